/** Questions that the server asks as tasks, and its requests about them (2025-11-25): for the client's receiver, where it has one. */
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { runsAsTask } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type { Receiver } from "../tasks/Receiver.ts"
import * as ServerRequests from "./ServerRequests.ts"

/** What a client with these services accepts as tasks. */
export const capabilities = (
  receiver: Receiver | undefined,
  { elicitation, sampling }: ServerRequests.HostServices
): { readonly tasks?: TaskCapabilities } =>
  receiver === undefined
    ? {}
    : { tasks: receiver.capabilities({ elicitation: elicitation !== undefined, sampling: sampling !== undefined }) }

type Answer = ReturnType<typeof ServerRequests.make>

/** The answers, by tasks where the server asks so. The wish is ignored where the client did not declare it. */
export const receiving =
  (answer: Answer, receiver: Receiver | undefined): Answer =>
  (request, conversation) => {
    const { capabilities, revision } = conversation
    const { tasks } = capabilities
    if (receiver === undefined || tasks === undefined || !revision.rules.tasks) return answer(request, conversation)
    const received = receiver.receive(request)
    if (received !== undefined) return received
    const { task, ...params } = request.params ?? {}
    if (!isJsonObject(task) || !runsAsTask(request.method, tasks)) return answer(request, conversation)
    const answered = Effect.catchTag(answer({ ...request, params }, conversation), "Refused", ({ error }) =>
      Effect.fail(error)
    )
    return ServerRequests.relating(request, conversation, receiver.create(request.method, task, answered))
  }
