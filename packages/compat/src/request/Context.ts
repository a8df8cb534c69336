/**
 * The context of a handler's call, and questions to its client.
 *
 * Built for each `Request` of the promise package, which runs the handler's questions within the request.
 */
import { ClientInput, type QuestionMethod } from "@effect-mcp/core/ClientInput"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { Request as Running } from "@effect-mcp/promise/internal/compat"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import { plain } from "../model/plain.ts"
import { errorOf, notify } from "../model/report.ts"
import type { Responses } from "../model/inputRequired.ts"
import type { ElicitResult, Request } from "../model/types.ts"
import { checked, isSchema } from "../schema/resultOf.ts"
import type { Definition } from "./Definition.ts"
import { checkedAnswer } from "./elicitation.ts"
import type { HttpPart, QuestionOptions, RequestPart, Send, ServerContext } from "./ServerContext.ts"
import { authOf } from "./auth.ts"
import { sessionOf } from "./MessageExtra.ts"

/** One call of a handler, with the client's answers to the questions of the previous call. */
export interface Round {
  readonly inputResponses: Responses
  readonly state: unknown
}

export type RequestInfo = RequestContext["Service"]

const isQuestion = (method: string): method is QuestionMethod =>
  method !== "ping" && Object.hasOwn(MethodInfo.serverRequests, method)

/** Fails with the SDK's error when a signal aborts. */
const aborting = (signal: AbortSignal): Effect.Effect<never, SdkError> =>
  Effect.callback((resume) => {
    const abort = () => resume(Effect.fail(new SdkError(SdkErrorCode.RequestTimeout, String(signal.reason))))
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })

/** Sends a request to the client. Params and result are in wire form. */
export const ask = (
  input: ClientInput["Service"],
  { method, params }: Pick<Request, "method"> & { readonly params?: object | undefined },
  { onprogress, signal, timeout }: QuestionOptions = {},
  failed: Definition["failed"]
): Effect.Effect<unknown, unknown> => {
  const told: typeof onprogress =
    onprogress &&
    ((progress) =>
      notify(
        () => onprogress(progress),
        (error) => failed(errorOf(error))
      ))
  const asked = sent(input, { method, params }, { onprogress: told, timeout })
  return signal === undefined ? asked : Effect.raceFirst(aborting(signal), asked)
}

const sent = (
  input: ClientInput["Service"],
  { method, params }: Parameters<typeof ask>[1],
  { onprogress, timeout }: QuestionOptions
): Effect.Effect<unknown, unknown> => {
  const options = { timeout, ...(onprogress && { onProgress: (event: object) => onprogress({ ...event }) }) }
  if (!isQuestion(method))
    return input.askExtension({ method, params: { ...params }, decode: (answer) => Effect.succeed(answer) }, options)
  // The codec of the method encodes the params, and rejects invalid ones.
  return input.ask(method, plain<never>(params ?? {}), options)
}

const inRequest = async <A>(
  { errorOf: toProgram, request }: Place,
  effect: Effect.Effect<A, unknown, ClientInput>,
  question: boolean
): Promise<A> => {
  try {
    return await Running.run(request, effect, { question })
  } catch (error) {
    throw toProgram(error)
  }
}

/** A running request, and how its program converts and reports errors. */
export interface Place {
  readonly request: Running
  readonly errorOf: Definition["errorOf"]
  readonly failed: Definition["failed"]
}

/** Asks within a request. If the revision has no connection to ask over, the request ends with the question and runs again. */
export const askIn = (place: Place, asked: Parameters<typeof ask>[1], options?: QuestionOptions): Promise<unknown> =>
  inRequest(
    place,
    Effect.flatMap(ClientInput, (input) => ask(input, asked, options, place.failed)),
    true
  )

const sender = (place: Place): Send => {
  const send = async (
    asked: Request,
    schema?: StandardSchemaV1 | QuestionOptions,
    options?: QuestionOptions
  ): Promise<unknown> => {
    const answer = await askIn(place, asked, isSchema(schema) ? options : schema)
    if (!isSchema(schema)) return answer
    const unfit = (issues: string) =>
      new SdkError(
        SdkErrorCode.InvalidResult,
        `The client's response to ${asked.method} does not match the schema: ${issues}`
      )
    return checked(schema, answer, unfit).catch((error) => {
      throw place.errorOf(error)
    })
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the overloads declare, the schema validates the answer
  return send as Send
}

const httpPart = (info: RequestInfo): HttpPart | undefined => {
  const { http } = info
  if (http === undefined) return undefined
  return {
    authInfo: authOf(info),
    closeSSE: () => info.closeStream(),
    get req() {
      const headers = Object.entries(http.headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value] as [string, string]]
      )
      return new globalThis.Request(new URL(http.url, "http://localhost"), { method: http.method, headers })
    }
  }
}

/** True if a request's revision has sessions. */
export const hasSessions = ({ revision }: RequestInfo): boolean => revision.era === "stateful"

const older = new WeakSet<ServerContext>()

/** True if structured content must be an object for the request's client: in revisions up to 2025-11-25. */
export const wantsObject = (context: ServerContext): boolean => older.has(context)

/** Returns the context of one call of a handler. */
export const contextOf = (place: Place, info: RequestInfo, round: Round): ServerContext => {
  const { errorOf: toProgram, request } = place
  const { id, meta, method, outbound, sessionId } = info
  const send = sender(place)
  const http = httpPart(info)
  const _meta = Object.keys(meta).length === 0 ? undefined : { ...meta }
  const sendNotification: RequestPart["notify"] = ({ method, params }) => {
    outbound.notify(method, params)
    return inRequest(place, outbound.ready, false)
  }
  const context: ServerContext = {
    // In the SDK, stdio and in-memory connections have no sessions.
    sessionId: sessionOf(info.envelope, http && sessionId),
    http,
    mcpReq: {
      id,
      method,
      _meta,
      inputResponses: round.inputResponses,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the caller chooses the type of its state
      requestState: <T>() => round.state as T | undefined,
      get signal() {
        return request.signal
      },
      send,
      notify: sendNotification,
      log: async (level, data, logger) => request.log[level](data, logger),
      elicitInput: async (params, options) => {
        const answer = plain<ElicitResult>(await askIn(place, { method: "elicitation/create", params }, options))
        return checkedAnswer(params, answer).catch((error) => {
          throw toProgram(error)
        })
      },
      requestSampling: async (params, options) =>
        plain(await askIn(place, { method: "sampling/createMessage", params }, options))
    },
    get signal() {
      return request.signal
    },
    requestId: id,
    _meta,
    authInfo: authOf(info),
    requestInfo: info.http && { headers: { ...info.http.headers } },
    sendNotification,
    sendRequest: send,
    closeSSEStream: http?.closeSSE
  }
  if (hasSessions(info)) older.add(context)
  return context
}
