/**
 * A handler of a program as the effect that answers a request.
 *
 * Owns the rounds of a result that asks for input: the questions are asked, and the handler is called again with the answers. Where the
 * revision ends the request with its questions, results of earlier rounds are recorded, so that no call of the handler is repeated.
 */
import { randomUUID } from "node:crypto"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { Request } from "@effect-mcp/promise/internal/Request"
import { run } from "@effect-mcp/promise/internal/run"
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { isInputRequiredResult } from "../model/inputRequired.ts"
import type { InputRequest, InputRequiredResult, JsonObject } from "../model/types.ts"
import { askIn, contextOf, hasSessions, type Place, type RequestInfo, type Round } from "./Context.ts"
import { knownClient } from "./Choose.ts"
import { withContext } from "./current.ts"
import type { Definition, Handler } from "./Definition.ts"
import { toAnswer } from "./errors.ts"

/** How long a cancelled handler may run on, in milliseconds. */
const cancelGrace = 2000

/** Rounds of one request; a handler that asks for more never ends by itself. */
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

/** The question; one by URL with the id that revisions with sessions want. */
const identified = ({ method, params }: InputRequest): InputRequest => {
  const isUrl = params !== undefined && "mode" in params && params.mode === "url" && !("elicitationId" in params)
  return isUrl ? { method, params: { ...params, elicitationId: randomUUID() } } : { method, params }
}

/** The answers to the questions of a result, by their keys. */
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

/** The result of a handler, once it asks for no more input. */
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
  throw new Error(`The handler of ${asked.method} asked for input in more than ${maxRounds} rounds`)
}

/** Answers a request by a handler. What it throws is answered with its code and data, or by -32603 with its message. */
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
    const ran = run(runner, async (request) => {
      try {
        return await finished(definition, handler, asked, request, info, isRecorded)
      } catch (thrown) {
        throw toAnswer(thrown)
      }
    })
    return Effect.mapError(ran, (error) =>
      error._tag === "CapabilityMissing" ? Wire.internalError(error.message) : error
    )
  })
