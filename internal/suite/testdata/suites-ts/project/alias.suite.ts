import { assert } from "plumb";
import * as strict from "node:assert/strict";
import { shout } from "@src/shout";
import tiny, { twice } from "tiny";
import words from "./data/words.json";

enum Mode {
  Loud = "loud",
  Quiet = "quiet",
}

function tagged(...tags: string[]) {
  return (target: any, context: ClassDecoratorContext) => {
    context.addInitializer(function () {
      (this as any).tags = tags;
    });
  };
}

@tagged("decorated")
class Cases {
  static tags: string[];
  static all = {
    loud: {
      id: `says-${Mode.Loud}`,
      prompt: shout(words[0]),
      tags: Cases.tags,
      assert: () => strict.equal(tiny, 1),
    },
    quiet: {
      id: `says-${Mode.Quiet}`,
      prompt: words[1],
      repeat: 3,
      maxSteps: 5,
      timeoutMs: 1,
      assertions: [{ type: "contains", ideal: "pnpm" }, { type: "ran_command", executable: "pnpm" }],
      assert: async () => {
        await using thing = { [Symbol.asyncDispose]: async () => {} };
        assert.equal(twice(2), 5);
      },
    },
  };
}

const extra = await Promise.resolve({ id: "late", prompt: "p", assert() {} });

export default { ...Cases.all, extra };
