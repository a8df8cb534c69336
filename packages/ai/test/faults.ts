/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the details of a model's error reach the server that asked",
    file: "packages/ai/src/sampling/ModelSampling.ts",
    test: "packages/ai/test/sampling/ModelSampling.test.ts",
    from: "${reason._tag}`",
    to: "${JSON.stringify(reason)}`"
  }
]
