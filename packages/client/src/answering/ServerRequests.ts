/**
 * The client's answers to requests of the server (sampling, elicitation, roots, questions of extensions), and the capabilities that it declares for them.
 *
 * Capabilities follow from the services in the context when the client is built. Refuses what was not declared: a whole feature as an
 * unknown method (-32601), a mode or a part of one as invalid params (-32602).
 */
import { effectOf } from "@effect-mcp/core/internal/callback"
import { missingCapability } from "@effect-mcp/core/internal/question"
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
import type { Root } from "@effect-mcp/protocol/model/Root"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Refused } from "./RefusedQuestion.ts"
import { Requester, type RequesterInfo } from "./Requester.ts"
import type { InUse } from "../extension/InUse.ts"
import * as Consent from "./Consent.ts"
import * as ElicitationChecks from "./ElicitationChecks.ts"
import * as UrlElicitations from "./UrlElicitations.ts"

/** The services of the host that answer servers. */
export interface HostServices {
  readonly sampling: Sampling.Sampling["Service"] | undefined
  readonly elicitation: Elicitation["Service"] | undefined
  readonly roots: Roots["Service"] | undefined
  readonly consent: Consent.Policy
}

/** The services in the context. Their functions are the program's, and may return no effect. */
export const services: Effect.Effect<HostServices> = Effect.gen(function* () {
  const sampling = Option.getOrUndefined(yield* Effect.serviceOption(Sampling.Sampling))
  const elicitation = Option.getOrUndefined(yield* Effect.serviceOption(Elicitation))
  const roots = yield* Effect.serviceOption(Roots)
  return {
    sampling: sampling && {
      capabilities: sampling.capabilities,
      createMessage: (...asked) => effectOf("createMessage of Sampling", () => sampling.createMessage(...asked))
    },
    elicitation: elicitation && {
      modes: elicitation.modes,
      elicit: (...asked) => effectOf("elicit of Elicitation", () => elicitation.elicit(...asked))
    },
    roots: Option.getOrUndefined(roots),
    consent: yield* Consent.Consent
  }
})

/** The capabilities of the services in the newest revision; codecs of older revisions leave out what those lack. */
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
  /** The extensions that both sides declared. */
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

/** The error answer. Services of a gateway may fail with the errors of its own client. */
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
  (service: Sampling.Sampling["Service"], consent: Consent.Policy): Question<"sampling/createMessage"> =>
  (params, { server }) =>
    Effect.andThen(
      Effect.mapError(Sampling.check(params.messages), refuse),
      Effect.catchTag(
        Consent.guard(consent, { _tag: "CreateMessage", server, params }, service.createMessage(params)),
        "ConsentDenied",
        () => Effect.fail(Sampling.rejected())
      )
    )

const elicitation =
  (service: Elicitation["Service"]): Question<"elicitation/create"> =>
  (params, { revision }) =>
    Effect.andThen(
      Effect.mapError(ElicitationChecks.checkQuestion(params, UrlElicitations.areTold(revision)), refuse),
      Effect.flatMap(service.elicit(params), (answer) => ElicitationChecks.checkAnswer(params, answer))
    )

/** Whether the URI names a file directly: `..` could lead out of the folder that the user agreed to. */
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

/** Takes the progress token out of the params: it belongs to this conversation. */
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

/** The task that a message belongs to, as its server wrote it (2025-11-25: tasks, related task metadata). */
const taskOf = (params: JsonRpc.Params | undefined, { revision: { era } }: QuestionContext): unknown =>
  era === "stateful" && isJsonObject(params?._meta) ? params._meta[Meta.relatedTask] : undefined

/** Which server asks by a request, and how to report progress to it. */
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
 * A failure that a question declares is an error of its own in a session. `inputResponses` have no errors: there it is an answer with the
 * failure in its `_meta`, which a server with the same value decodes.
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

/** Answers a question of an extension; the question of any other is refused. */
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

/** The answer with the task that its question names (2025-11-25: tasks, related task metadata). */
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

/** A client without `sampling.context` ignores which context the server asks for (spec: client/sampling). */
const withoutContext = <A>(params: A, conversation: ClientInput.ClientDeclaration): A =>
  isJsonObject(params) && "includeContext" in params && !ClientInput.samplingCapabilities(conversation).context
    ? { ...params, includeContext: "none" }
    : params

/** Answers one request of the server. Pings are answered by the peer. */
export const make = (
  offered: HostServices
): ((
  request: JsonRpc.Request,
  conversation: QuestionContext
) => Effect.Effect<unknown, McpError.McpError | Refused>) => {
  const handlers: { readonly [M in ClientInput.QuestionMethod]: Question<M> | undefined } = {
    "sampling/createMessage": offered.sampling && sampling(offered.sampling, offered.consent),
    "elicitation/create": offered.elicitation && elicitation(offered.elicitation),
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
            : Effect.fail(refuse(McpError.invalidParams(`The client did not declare ${missing}`)))
        }),
        Effect.flatMap((value) =>
          Effect.mapError(result.encode(value), (message) =>
            McpError.internalError(`The answer cannot be encoded in this revision: ${message}`)
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
