/** The second argument of handlers: `ctx` of v2 and `extra` of v1 in one object. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Responses } from "../model/inputRequired.ts"
import type {
  AuthInfo,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  JsonObject,
  LoggingLevel,
  Notification,
  Request,
  RequestId
} from "../model/types.ts"

/** Options of a question to the client. */
export interface QuestionOptions {
  /** In milliseconds. Default: ten minutes, which gives a user time to answer. */
  timeout?: number | undefined
  onprogress?: ((progress: JsonObject) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Asks the client, or sends it a request of another method. If you pass a schema, it validates the result. */
export interface Send {
  (request: Request, options?: QuestionOptions): Promise<JsonObject>
  <S extends StandardSchemaV1>(
    request: Request,
    schema: S,
    options?: QuestionOptions
  ): Promise<StandardSchemaV1.InferOutput<S>>
}

/** The running request, as v2 names it. */
export interface RequestPart {
  id: RequestId
  method: string
  _meta?: ({ progressToken?: RequestId | undefined } & JsonObject) | undefined
  /** Answers to the questions of the previous result that asked for input. */
  inputResponses?: Responses
  /** Verified state of the previous result that asked for input. */
  requestState: <T = string>() => T | undefined
  /** Aborts when the request is cancelled or the server closes. */
  signal: AbortSignal
  send: Send
  notify: (notification: Notification) => Promise<void>
  log: (level: LoggingLevel, data: unknown, logger?: string) => Promise<void>
  elicitInput: (
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: QuestionOptions
  ) => Promise<ElicitResult>
  requestSampling: (params: CreateMessageRequestParams, options?: QuestionOptions) => Promise<CreateMessageResult>
}

/** The HTTP request that a message arrived with. */
export interface HttpPart {
  authInfo?: AuthInfo | undefined
  req?: globalThis.Request | undefined
  /** Ends the stream of the answer, if the client can resume it later (2025-11-25). */
  closeSSE?: (() => void) | undefined
}

/** The second argument of handlers. */
export interface ServerContext {
  sessionId?: string | undefined
  mcpReq: RequestPart
  /** `undefined` over stdio and in memory. */
  http?: HttpPart | undefined
  /** Same as `mcpReq.signal`. This and the following are the names of v1. */
  signal: AbortSignal
  requestId: RequestId
  _meta?: RequestPart["_meta"]
  authInfo?: AuthInfo | undefined
  requestInfo?: { headers: { [name: string]: string | undefined } } | undefined
  sendNotification: RequestPart["notify"]
  sendRequest: Send
  closeSSEStream?: (() => void) | undefined
}
