/** Runs a program of this package. Its result is the exit code of the process. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"

export const runProgram = <E>(program: Effect.Effect<number, E, NodeServices.NodeServices>): void =>
  program.pipe(
    Effect.tap((code) =>
      Effect.sync(() => {
        process.exitCode = code
      })
    ),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
