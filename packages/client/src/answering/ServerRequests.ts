/**
 * Answers the server's requests (sampling, elicitation, roots, extension questions), and determines the capabilities that the client
 * declares for them.
 *
 * Capabilities follow from the services in the context when the client is built. Questions that were not declared are rejected: a missing
 * feature as an unknown method (-32601), a missing mode or part as invalid params (-32602).
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import { missingCapability } from "@effect-mcp/core/internal/questions"
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import * as Extension from "@effect-mcp/core/Extension"
import { Roots } from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import type { Root } from "@effect-mcp/protocol/model/Root"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Refused } from "./RefusedQuestion.ts"
import { Requester, type RequesterInfo } from "./Requester.ts"
import type { InUse } from "../extension/InUse.ts"
import * as Consent from "./Consent.ts"
import * as ElicitationChecks from "./ElicitationChecks.ts"
import * as QuestionLimits from "./QuestionLimits.ts"
import * as UrlElicitations from "./UrlElicitations.ts"

/** The host's services that answer servers. */
export interface HostServices {
  readonly sampling: Sampling.Sampling["Service"] | undefined
  readonly elicitation: Elicitation["Service"] | undefined
  readonly roots: Roots["Service"] | undefined
  readonly consent: Consent.Policy
  readonly limits: QuestionLimits.Options
}

/** Reads the services from the context. Their functions come from the program, and may return something other than an effect. */
export const services: Effect.Effect<HostServices> = Effect.gen(function* () {
  const sampling = Option.getOrUndefined(yield* Effect.serviceOption(Sampling.Sampling))
  const elicitation = Option.getOrUndefined(yield* Effect.serviceOption(Elicitation))
  const roots = yield* Effect.serviceOption(Roots)
  return {
    sampling: sampling && {
      capabilities: sampling.capabilities,
      createMessage: (...asked) => effectOf("Sampling.createMessage", () => sampling.createMessage(...asked))
    },
    elicitation: elicitation && {
      modes: elicitation.modes,
      elicit: (...asked) => effectOf("Elicitation.elicit", () => elicitation.elicit(...asked))
    },
    roots: Option.getOrUndefined(roots),
    consent: yield* Consent.Consent,
    limits: yield* QuestionLimits.QuestionLimits
  }
})

/** Returns the services' capabilities in the newest revision. Codecs of older revisions drop the capabilities that they lack. */
export const capabilities = ({ elicitation, roots, sampling }: HostServices): ClientCapabilities => ({
  ...(sampling === undefined
    ? undefined
    : {
        sampling: {
          ...(sampling.capabilities.tools ? { tools: {} } : undefined),
          ...(sampling.capabilities.context ? { context: {} } : undefined)
        }
      }),
  ...(elicitation === undefined || !(elicitation.modes.form || elicitation.modes.url)
    ? undefined
    : {
        elicitation: {
          ...(elicitation.modes.form ? { form: {} } : undefined),
          ...(elicitation.modes.url ? { url: {} } : undefined)
        }
      }),
  ...(roots === undefined ? undefined : { roots: roots.changes === undefined ? {} : { listChanged: true } })
})

/** The conversation in which a question is answered. */
export interface QuestionContext {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  readonly server: Implementation
  readonly relatedTo?: JsonRpc.Id | undefined
  /** Extensions that both sides declared. */
  readonly inUse?: InUse | undefined
  /** Sends a notification that may be dropped. */
  readonly hint?: ((method: string, params: JsonRpc.Params) => void) | undefined
}

const refuse = (error: McpError.McpError): Refused => new Refused({ error })

type AskFailure =
  | Refused
  | ClientInput.CapabilityMissing
  | McpError.McpError
  | { readonly _tag: string; readonly message: string }

/** Converts to the error answer. A gateway's services may fail with errors from their own client. */
const toMcpError = (error: AskFailure): McpError.McpError | Refused => {
  if (error instanceof McpError.McpError || error instanceof Refused) return error
  if (error instanceof ClientInput.Declined) return Sampling.rejected(error.message)
  return error instanceof ClientInput.CapabilityMissing
    ? McpError.invalidParams(error.message)
    : McpError.internalError(error.message)
}

const denied = (): McpError.McpError =>
  new McpError.McpError({ code: McpError.UserRejected, message: "The user rejected the request" })

type Question<M extends ClientInput.QuestionMethod> = (
  params: Method.ServerRequests[M]["params"],
  conversation: QuestionContext
) => Effect.Effect<Method.ServerRequests[M]["result"], AskFailure>

const sampling =
  (
    service: Sampling.Sampling["Service"],
    consent: Consent.Policy,
    limits: QuestionLimits.Checks
  ): Question<"sampling/createMessage"> =>
  (params, { server }) => {
    const action = { server, params }
    const sampled = Consent.prompted(consent, action).pipe(
      Effect.tap((prompt) => (prompt === params ? Effect.void : Sampling.check(prompt.messages))),
      Effect.flatMap((prompt) => service.createMessage(prompt)),
      Effect.flatMap((answer) => Consent.answered(consent, action, answer)),
      Effect.tap(checkMessage)
    )
    return Effect.mapError(Sampling.check(params.messages), refuse).pipe(
      Effect.andThen(limits.sampling(params.messages)),
      Effect.andThen(Consent.guard(consent, { _tag: "CreateMessage", ...action }, sampled)),
      Effect.catchTag("ConsentDenied", () => Effect.fail(Sampling.rejected()))
    )
  }

/** Fails with -32603 if a block of the model's message violates the specification. */
const checkMessage = ({ content }: CreateMessageResult): Effect.Effect<void, McpError.McpError> =>
  Effect.try({
    try: () => Validate.blocks("The sampling result", [content].flat()),
    catch: (error) => McpError.internalError(error instanceof Error ? error.message : "The sampling result is invalid")
  })

const elicitation =
  (
    service: Elicitation["Service"],
    consent: Consent.Policy,
    limits: QuestionLimits.Checks
  ): Question<"elicitation/create"> =>
  (params, { revision, server }) =>
    Effect.mapError(ElicitationChecks.checkQuestion(params, UrlElicitations.areTold(revision)), refuse).pipe(
      Effect.andThen(limits.elicitation),
      Effect.andThen(service.elicit(params)),
      Effect.flatMap((answer) => Consent.filledIn(consent, server, params, answer)),
      Effect.flatMap((answer) => ElicitationChecks.checkAnswer(params, answer))
    )

/** True if the URI names a file directly: `..` could lead out of the folder that the user agreed to. */
const isPlain = ({ uri }: Root): boolean =>
  URL.canParse(uri) && new URL(uri).protocol === "file:" && !/(^|[/\\])(\.|%2e){2}([/\\]|$)/i.test(uri)

const roots =
  (service: Roots["Service"], consent: Consent.Policy): Question<"roots/list"> =>
  (_params, { server }) =>
    Consent.guard(consent, { _tag: "ListRoots", server }, service.list).pipe(
      Effect.catchTag("ConsentDenied", () => Effect.fail(denied())),
      Effect.flatMap((list) => {
        const other = list.find((root) => !isPlain(root))
        return other === undefined
          ? Effect.succeed({ roots: list })
          : Effect.fail(McpError.internalError(`A root must be a file URI without "..": ${other.uri}`))
      })
    )

/** Removes the progress token from the params, because it belongs to this conversation. */
const withoutToken = (params: JsonRpc.Params | undefined) => {
  const meta = params?._meta
  if (!isJsonObject(meta) || !JsonRpc.isId(meta.progressToken)) return { asked: params, token: undefined }
  const { progressToken: token, ..._meta } = meta
  const { _meta: _whole, ...rest } = { ...params }
  return { asked: Object.keys(_meta).length === 0 ? rest : { ...rest, _meta }, token }
}

const progressOf =
  (progressToken: unknown, { hint, revision }: QuestionContext): RequesterInfo["progress"] =>
  ({ message, progress, total }) =>
    hint?.("notifications/progress", {
      progressToken,
      progress,
      ...(total === undefined ? undefined : { total }),
      ...(message === undefined || !revision.rules.progressMessage ? undefined : { message })
    })

/** Returns the task that a message belongs to, as its server wrote it (2025-11-25: tasks, related task metadata). */
const taskOf = (params: JsonRpc.Params | undefined, { revision: { era } }: QuestionContext): unknown =>
  era === "stateful" && isJsonObject(params?._meta) ? params._meta[Meta.relatedTask] : undefined

/** Identifies the server behind a request, with a way to report progress to it. */
export const requester = ({ id, params }: JsonRpc.Request, conversation: QuestionContext): RequesterInfo => {
  const { token } = withoutToken(params)
  const task = taskOf(params, conversation)
  return {
    server: conversation.server,
    relatedTo: conversation.relatedTo,
    ...(token === undefined ? undefined : { progress: progressOf(token, conversation) }),
    ...(isJsonObject(task) && typeof task["taskId"] === "string" ? { task: task["taskId"] } : undefined),
    ...(conversation.revision.era === "stateless" ? { key: String(id) } : undefined)
  }
}

/**
 * Encodes a failure that a question declares. In a session it is a JSON-RPC error. `inputResponses` cannot contain errors, so there it is
 * an answer with the failure in its `_meta`, which a server with the same Question value decodes.
 */
const failureInRound = (
  error: McpError.McpError,
  { revision: { era } }: QuestionContext
): Effect.Effect<unknown, McpError.McpError> => {
  const { data } = error
  return era === "stateless" && isJsonObject(data) && Object.hasOwn(data, Extension.failureKey)
    ? Effect.succeed({ _meta: { [Extension.failureKey]: data[Extension.failureKey] } })
    : Effect.fail(error)
}

/** Answers a question that belongs to one of the client's extensions, and rejects others. */
const answerOwn = (request: JsonRpc.Request, conversation: QuestionContext) => {
  const { method, params } = request
  const question = conversation.inUse?.question(method)
  if (question === undefined) return Effect.fail(refuse(McpError.methodNotFound(method)))
  const { asked } = withoutToken(params)
  return question.request.params.decode(asked ?? {}).pipe(
    Effect.mapError(({ message }) => refuse(McpError.invalidParams(`Invalid params for ${method}: ${message}`))),
    Effect.flatMap((params) => Effect.catch(question.answer(params), (error) => failureInRound(error, conversation))),
    Effect.provideService(Requester, requester(request, conversation))
  )
}

/** Adds the task that the question names to the answer (2025-11-25: tasks, related task metadata). */
export const relating = <E>(
  { params }: JsonRpc.Request,
  conversation: QuestionContext,
  answer: Effect.Effect<unknown, E>
): Effect.Effect<unknown, E> => {
  const task = taskOf(params, conversation)
  return task === undefined
    ? answer
    : Effect.map(answer, (result) =>
        isJsonObject(result) ? Meta.withMeta(result, { [Meta.relatedTask]: task }) : result
      )
}

/** A client without `sampling.context` ignores the context that the server asks for (spec: client/sampling). */
const withoutContext = <A>(params: A, conversation: ClientInput.ClientDeclaration): A =>
  isJsonObject(params) && "includeContext" in params && !ClientInput.samplingCapabilities(conversation).context
    ? { ...params, includeContext: "none" }
    : params

/** Creates the function that answers the server's requests. The peer itself answers pings. */
export const make = (
  offered: HostServices
): ((
  request: JsonRpc.Request,
  conversation: QuestionContext
) => Effect.Effect<unknown, McpError.McpError | Refused>) => {
  const limits = QuestionLimits.make(offered.limits)
  const handlers: { readonly [M in ClientInput.QuestionMethod]: Question<M> | undefined } = {
    "sampling/createMessage": offered.sampling && sampling(offered.sampling, offered.consent, limits),
    "elicitation/create": offered.elicitation && elicitation(offered.elicitation, offered.consent, limits),
    "roots/list": offered.roots && roots(offered.roots, offered.consent)
  }
  const answer = <M extends ClientInput.QuestionMethod>(
    method: M,
    handler: Question<M> | undefined,
    request: JsonRpc.Request,
    conversation: QuestionContext
  ) =>
    Effect.suspend(() => {
      const codec = conversation.revision.serverRequests[method]
      if (handler === undefined || codec === undefined) return Effect.fail(refuse(McpError.methodNotFound(method)))
      const { params, result } = Codecs.coders(codec)
      const { asked } = withoutToken(request.params)
      return params.decode(asked).pipe(
        Effect.mapError((message) => refuse(McpError.invalidParams(`Invalid params for ${method}: ${message}`))),
        Effect.flatMap((given) => {
          const decoded = withoutContext(given, conversation)
          const missing = missingCapability(method, decoded, conversation)
          return missing === undefined
            ? Effect.mapError(handler(decoded, conversation), toMcpError)
            : Effect.fail(refuse(McpError.invalidParams(`The client did not declare the ${missing} capability`)))
        }),
        Effect.flatMap((value) =>
          Effect.mapError(result.encode(value), (message) =>
            McpError.internalError(`The result cannot be sent in this protocol revision: ${message}`)
          )
        ),
        Effect.provideService(Requester, requester(request, conversation))
      )
    })
  const dispatch = (request: JsonRpc.Request, conversation: QuestionContext) => {
    const { method } = request
    switch (method) {
      case "sampling/createMessage":
        return answer(method, handlers[method], request, conversation)
      case "elicitation/create":
        return answer(method, handlers[method], request, conversation)
      case "roots/list":
        return answer(method, handlers[method], request, conversation)
      default:
        return answerOwn(request, conversation)
    }
  }
  return (request, conversation) => relating(request, conversation, dispatch(request, conversation))
}
