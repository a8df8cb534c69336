/** Runs the requests of a client. */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { messageOf, toPublic } from "@effect-mcp/promise/internal/compat"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Client } from "@effect-mcp/client/Client"
import type { Transport } from "../server/Transport.ts"
import { loginFailureOf } from "./login/LoginFailure.ts"

/** A running client and the function that ends it. */
export interface Running {
  readonly client: Client
  readonly close: () => Promise<void>
  readonly transport: Transport
}

/** Runs an effect until it ends or its signal aborts. `failure` returns the error that the program receives. */
export const runWith = async <A>(
  effect: Effect.Effect<A, unknown>,
  signal: AbortSignal | undefined,
  failure: (error: unknown) => unknown
): Promise<A> => {
  signal?.throwIfAborted()
  const fiber = Effect.runFork(effect)
  const cancel = () => fiber.interruptUnsafe(undefined, CancelReason.annotation(messageOf(signal?.reason)))
  signal?.addEventListener("abort", cancel, { once: true })
  const exit = await new Promise<Exit.Exit<A, unknown>>((resolve) => fiber.addObserver(resolve))
  signal?.removeEventListener("abort", cancel)
  if (Exit.isSuccess(exit)) return exit.value
  if (signal?.aborted === true && Cause.hasInterrupts(exit.cause)) throw signal.reason
  const error = Cause.squash(exit.cause)
  const refused = loginFailureOf(error)
  throw refused === undefined ? failure(toPublic(error)) : refused.error
}
