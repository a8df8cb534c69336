/** What a message of a task leaves on in a session: a request that is open, or the stream of the session itself. */
import type { ClientDeclaration, ClientInput, QuestionMethod } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { missingCapability } from "@effect-mcp/core/internal/question"
import type { Outbound, RequestContext, RequestFacts } from "@effect-mcp/core/RequestContext"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Question, Task } from "../model/Task.ts"

export interface Outlet extends Pick<Outbound, "connection" | "isRead" | "notify" | "ready" | "left"> {
  readonly input: ClientInput["Service"]
  /** What its session declared. */
  readonly client: ClientDeclaration
}

type Request = RequestContext["Service"]

const clientOf = ({
  clientCapabilities,
  revision
}: Pick<Request, "clientCapabilities" | "revision">): ClientDeclaration => ({
  capabilities: clientCapabilities,
  revision
})

/** That of a request. */
export const ofRequest = (request: Request, input: ClientInput["Service"]): Outlet => ({
  ...request.outbound,
  input,
  client: clientOf(request)
})

/** That of the session of a request, which outlives it; undefined where there is no session. */
export const ofSession = (
  request: Pick<RequestFacts, "clientCapabilities" | "connection" | "revision">
): Outlet | undefined => {
  const { connection } = request
  return connection?.input && { ...connection, input: connection.input, connection, client: clientOf(request) }
}

/** Whether it is a question that MCP has a capability for: every client answers a ping. */
const needsCapability = (method: string): method is QuestionMethod =>
  method !== "ping" && Object.hasOwn(MethodInfo.serverRequests, method)

/** Whether its session declared what the question needs: a task may be read in other sessions than the one that made it. */
export const canAsk = ({ client }: Outlet, { extension: id, method, params }: Question): boolean => {
  if (needsCapability(method)) return missingCapability(method, params, client) === undefined
  if (id === undefined) return true
  const extension = { id, revisions: undefined, capability: undefined }
  return Extension.settingsIn(extension, client.revision, client.capabilities) !== undefined
}

/** Whether one of the open questions of a task can be asked there. */
export const canAskOneOf = (outlet: Outlet, { questions }: Task): boolean =>
  Array.from(questions.values()).some((question) => canAsk(outlet, question))
