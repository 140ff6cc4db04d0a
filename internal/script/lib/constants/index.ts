// node:constants, which old packages import.
import fs from "node:fs";
import os from "node:os";
export default { ...(fs as any).constants, ...(os as any).constants.signals };
