/** Where a message of a task is sent in a session: on a request that is open, or on the stream of the session itself. */
import type { ClientDeclaration, ClientInput, QuestionMethod } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { missingCapability } from "@effect-mcp/core/internal/question"
import type { Outbound, RequestContext } from "@effect-mcp/core/RequestContext"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Question, Task } from "../model/Task.ts"

export interface Destination extends Pick<Outbound, "connection" | "isRead" | "notify" | "ready" | "left"> {
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

/** The stream of a request. */
export const ofRequest = (request: Request, input: ClientInput["Service"]): Destination => ({
  ...request.outbound,
  input,
  client: clientOf(request)
})

/** The session of a request, which outlives it, or `undefined` if there is no session. */
export const ofSession = (request: Request): Destination | undefined => {
  const { connection } = request.outbound
  return connection?.input && { ...connection, input: connection.input, connection, client: clientOf(request) }
}

/** Whether it is a question that MCP has a capability for: every client answers a ping. */
const needsCapability = (method: string): method is QuestionMethod =>
  method !== "ping" && Object.hasOwn(MethodInfo.serverRequests, method)

/** Whether its session declared what the question needs: a task may be read in other sessions than the one that made it. */
export const canAsk = ({ client }: Destination, { extension: id, method, params }: Question): boolean => {
  if (needsCapability(method)) return missingCapability(method, params, client) === undefined
  if (id === undefined) return true
  const extension = { id, revisions: undefined, capability: undefined }
  return Extension.settingsIn(extension, client.revision, client.capabilities) !== undefined
}

/** Whether one of the open questions of a task can be asked there. */
export const canAskOneOf = (destination: Destination, { questions }: Task): boolean =>
  Array.from(questions.values()).some((question) => canAsk(destination, question))
