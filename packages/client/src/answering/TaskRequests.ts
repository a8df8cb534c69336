/** Questions that the server asks as tasks, and its requests about them (2025-11-25), for the client's receiver if it has one. */
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import { runsAsTask } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type { Receiver } from "../tasks/Receiver.ts"
import * as ServerRequests from "./ServerRequests.ts"

/**
 * Returns the task capabilities of a client with these services. An empty declaration shows that the client follows its calls' tasks, so
 * that servers don't have to explain tasks to its model.
 */
export const capabilities = (
  receiver: Receiver | undefined,
  { elicitation, sampling }: ServerRequests.HostServices
): TaskCapabilities =>
  receiver?.capabilities({ elicitation: elicitation !== undefined, sampling: sampling !== undefined }) ?? {}

type Answer = ReturnType<typeof ServerRequests.make>

/** Answers as tasks if the server asks for that. Ignored if the client did not declare it. */
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
