/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a tool whose text changed stays visible",
    file: "packages/host/src/pins/PinnedServer.ts",
    test: "packages/host/test/pins/Pins.test.ts",
    from: `(verdict === "ask" && locked === undefined && !earlier)`,
    to: `verdict === "ask"`
  },
  {
    name: "a hidden tool can be called",
    file: "packages/host/src/pins/Pins.ts",
    test: "packages/host/test/pins/Pins.test.ts",
    from: "if (used === undefined || findings === undefined) return next()",
    to: "if (used !== undefined || findings === undefined) return next()"
  },
  {
    name: "a tool may take the name of another server's tool",
    file: "packages/host/src/pins/Finding.ts",
    test: "packages/host/test/pins/Pins.test.ts",
    from: `return [["refuse", "shadows", message]]`,
    to: "return []"
  },
  {
    name: "a skill whose file changed stays visible",
    file: "packages/host/src/pins/Finding.ts",
    test: "packages/host/test/pins/skill-pins.test.ts",
    from: "!isSame(was.get(uri), is.get(uri))",
    to: "!is.has(uri)"
  },
  {
    name: "a hidden skill can be read by its URI",
    file: "packages/host/src/pins/Pins.ts",
    test: "packages/host/test/pins/skill-pins.test.ts",
    from: "hidden === undefined ? Effect.succeed(result)",
    to: "hidden !== null ? Effect.succeed(result)"
  },
  {
    name: "an approval covers other arguments",
    file: "packages/host/src/policy/Decisions.ts",
    test: "packages/host/test/policy/CallApprovals.test.ts",
    from: "approved === approvalKey(action)",
    to: `approved !== ""`
  },
  {
    name: "an approval counts more than once",
    file: "packages/host/src/policy/CallApprovals.ts",
    test: "packages/host/test/policy/CallApprovals.test.ts",
    from: "this.open(conversation).delete(id)",
    to: "this.open.get(conversation)"
  }
]
