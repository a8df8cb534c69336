/** A stream on which to send a task's messages: an open request, or the session's own stream. */
import type { ClientDeclaration, ClientInput, QuestionMethod } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { missingCapability } from "@effect-mcp/core/internal/questions"
import type { Outbound, RequestContext } from "@effect-mcp/core/RequestContext"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Question, Task } from "../model/Task.ts"

export interface Destination extends Pick<Outbound, "connection" | "isRead" | "notify" | "ready" | "left"> {
  readonly input: ClientInput["Service"]
  /** Capabilities that the session declared. */
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

/** Returns a request's stream. */
export const ofRequest = (request: Request, input: ClientInput["Service"]): Destination => ({
  ...request.outbound,
  input,
  client: clientOf(request)
})

/** Returns the stream of the request's session, which outlives the request, or `undefined` if there is no session. */
export const ofSession = (request: Request): Destination | undefined => {
  const { connection } = request.outbound
  return connection?.input && { ...connection, input: connection.input, connection, client: clientOf(request) }
}

/** True if the method is a question that requires a capability. Every client responds to a ping. */
const needsCapability = (method: string): method is QuestionMethod =>
  method !== "ping" && Object.hasOwn(MethodInfo.serverRequests, method)

/**
 * True if its session declared the capability that the question requires. A task may be read in a different session than the one that
 * created it.
 */
export const canAsk = ({ client }: Destination, { extension: id, method, params }: Question): boolean => {
  if (needsCapability(method)) return missingCapability(method, params, client) === undefined
  if (id === undefined) return true
  const extension = { id, revisions: undefined, capability: undefined }
  return Extension.settingsIn(extension, client.revision, client.capabilities) !== undefined
}

/** True if at least one of the task's open questions can be asked on this stream. */
export const canAskOneOf = (destination: Destination, { questions }: Task): boolean =>
  Array.from(questions.values()).some((question) => canAsk(destination, question))
