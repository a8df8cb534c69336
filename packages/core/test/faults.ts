/** Small faults in the contracts and transports, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a text that is no base64 is taken for it",
    file: "packages/protocol/src/Validate.ts",
    from: "stray === value.length - padding)",
    to: "stray >= 0)",
    test: "packages/core/test/Content.test.ts"
  },
  {
    name: "a day that the month does not have is a date",
    file: "packages/protocol/src/Validate.ts",
    from: " && new Date(midnight).toISOString().startsWith(day)",
    to: "",
    test: "packages/core/test/Content.test.ts"
  },
  {
    name: "a tool has an icon that a client must reject",
    file: "packages/core/src/Tool.ts",
    from: "Validate.icons(`Tool ${name}`, icons)",
    to: "icons",
    test: "packages/core/test/Content.test.ts"
  }
]
