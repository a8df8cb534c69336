/** Reads the contract of a server. The module that does so is loaded when a program asks. */
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type { Contract } from "./Contract.ts"
import type { ContractOptions, ContractSource } from "./readContract.ts"

const reading = Effect.promise(() => import("./readContract.ts"))

export const contractOf = (
  source: ContractSource,
  options?: ContractOptions
): Effect.Effect<Contract, McpError.McpError> =>
  Effect.flatMap(reading, ({ readContract }) => readContract(source, options))
