/**
 * Runs a program's handler as the effect that answers a request.
 *
 * Owns the rounds of a result that asks for input: asks the questions, then calls the handler again with the answers. If the revision ends
 * the request with its questions, the results of earlier rounds are recorded, so that no call of the handler is repeated.
 */
import { randomUUID } from "node:crypto"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { type Request, run } from "@effect-mcp/promise/internal/compat"
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import { isInputRequiredResult } from "../model/inputRequired.ts"
import type { InputRequest, InputRequiredResult, JsonObject } from "../model/types.ts"
import { askIn, contextOf, hasSessions, type Place, type RequestInfo, type Round } from "./Context.ts"
import { knownClient } from "./Choose.ts"
import { withContext } from "./current.ts"
import type { Definition, Handler } from "./Definition.ts"
import { toAnswer } from "./errors.ts"

/** How long a cancelled handler may keep running, in milliseconds. */
const cancelGrace = 2000

/** Limit on the rounds of one request. A handler that asks for more would never end by itself. */
const maxRounds = 32

const call = async (
  definition: Definition,
  handler: Handler,
  asked: { method: string; params: JsonObject },
  request: Request,
  info: RequestInfo,
  round: Round
): Promise<unknown> => {
  const place = { request, errorOf: definition.errorOf, failed: (error: Error) => definition.failed(error) }
  const bare = contextOf(place, info, round)
  const { verify } = definition
  const state = verify === undefined || typeof round.state !== "string" ? round.state : await verify(round.state, bare)
  const context = state === round.state ? bare : contextOf(place, info, { ...round, state })
  return withContext(definition, { client: () => knownClient(info), context }, () => handler(asked, context))
}

/** Returns the question. Revisions with sessions require an id for questions by URL, so those get one. */
const identified = ({ method, params }: InputRequest): InputRequest => {
  const isUrl = params !== undefined && "mode" in params && params.mode === "url" && !("elicitationId" in params)
  return isUrl ? { method, params: { ...params, elicitationId: randomUUID() } } : { method, params }
}

/** Returns the answers to the questions of a result, by key. */
const answers = async (
  place: Place,
  { inputRequests = {} }: InputRequiredResult,
  asked: (question: InputRequest) => InputRequest
) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(inputRequests).map(async ([key, question]) => [key, await askIn(place, asked(question))] as const)
    )
  )

/** Calls a handler until its result asks for no more input. */
const finished = async (
  definition: Definition,
  handler: Handler,
  asked: { method: string; params: JsonObject },
  request: Request,
  info: RequestInfo,
  isRecorded: (name: string) => boolean
): Promise<unknown> => {
  let round: Round = { inputResponses: undefined, state: undefined }
  for (let count = 0; count < maxRounds; count++) {
    const name = `round ${count}`
    const known = isRecorded(name)
    const result: unknown = known
      ? await request.once(name, () => undefined)
      : await call(definition, handler, asked, request, info, round)
    if (!isInputRequiredResult(result)) return result
    if (!known) await request.once(name, () => result)
    const place = { request, errorOf: definition.errorOf, failed: (error: Error) => definition.failed(error) }
    const inputResponses = await answers(place, result, hasSessions(info) ? identified : (question) => question)
    round = { inputResponses, state: result.requestState }
  }
  throw new Error(`The ${asked.method} handler asked for input more than ${maxRounds} times`)
}

/** Answers a request with a handler. If the handler throws, the answer is an error with its code and data, or -32603 with its message. */
export const answer = (
  definition: Definition,
  handler: Handler,
  asked: { method: string; params: JsonObject }
): Effect.Effect<unknown, Wire.McpError, RequestServices> =>
  Effect.flatMap(Effect.all([RequestContext, ClientInput]), ([info, { recorded }]) => {
    const isRecorded = (name: string) => recorded !== undefined && Object.hasOwn(recorded().steps, name)
    const runner = {
      rules: { cancelGrace, onError: undefined },
      place: { kind: "tool", name: asked.method } as const,
      fail: Wire.internalError
    }
    const handle = async (request: Request) => {
      try {
        return await finished(definition, handler, asked, request, info, isRecorded)
      } catch (thrown) {
        throw toAnswer(thrown)
      }
    }
    const ran = run(runner, handle, identity)
    return Effect.mapError(ran, (error) =>
      error._tag === "CapabilityMissing" ? Wire.internalError(error.message) : error
    )
  })
