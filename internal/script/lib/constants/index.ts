// node:constants, which old packages ask for.
import fs from "node:fs";
import os from "node:os";
export default { ...(fs as any).constants, ...(os as any).constants.signals };
