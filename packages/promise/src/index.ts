/** MCP servers and clients built with plain functions, promises and async iterators. */
export { McpClient, type CompletionReference } from "./client/McpClient.ts"
export type {
  AnswerContext,
  Answers,
  CommandTarget,
  ConnectOptions,
  QuestionLimits,
  QuestionRate,
  RequestOptions,
  Target,
  UrlTarget
} from "./client/Options.ts"
export { McpError, type Reason, RequestError } from "./Errors.ts"
export { fromJsonSchema, withJsonSchema } from "./schema/fromJsonSchema.ts"
export type { Ask, AskOptions, ErrorPlace, HandlerContext, Jsonified, Log, Principal } from "./handler/Context.ts"
export type { PromptOutput, PromptOutputMessage, ResourceOutput, ToolOutput } from "./handler/results.ts"
export type * from "./model/Content.ts"
export type * from "./model/Results.ts"
export type {
  Auth,
  AuthRequest,
  CorsOptions,
  FetchHandler,
  HttpOptions,
  Listener,
  PrincipalInput,
  SessionOptions
} from "./server/HttpOptions.ts"
export {
  type Listening,
  type ListenOptions,
  McpServer,
  type Registration,
  type ServerFeature,
  type StdioOptions
} from "./server/McpServer.ts"
export type {
  Completer,
  HookContext,
  Hooks,
  IncomingRequest,
  PromptOptions,
  RequestOutcome,
  ResourceOptions,
  Revision,
  ServerLimits,
  ServerOptions,
  SpillOptions,
  Suggestions,
  TemplateOptions,
  ToolLimits,
  ToolOptions,
  Variables
} from "./server/Options.ts"
