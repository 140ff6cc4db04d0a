import fs from "node:fs";
export default (fs as any).promises;
