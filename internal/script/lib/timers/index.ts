// node:timers.
const { timers } = __plumb as any;
const { queueMicrotask: _, ...rest } = timers;
void _;
export default {
  ...rest,
  get promises() { return __plumb.require("timers/promises"); },
};
