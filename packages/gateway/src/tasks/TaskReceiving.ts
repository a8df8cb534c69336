/**
 * Questions that the upstream server asks as tasks (2025-11-25), for a client of the gateway that runs such questions as tasks.
 *
 * The task of the upstream server's question is the gateway's own, and lives as long as the conversation; its answer is that of the
 * client's task, for which the gateway asks. What the client did not declare is not declared on its behalf.
 */
import { layerMemory, type Receiver, TaskReceiver } from "@effect-mcp/client/TaskReceiver"
import type { AskOptions, ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { CoreTasks } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The task that the question which is answered asks for. */
const AskedTask = Context.Reference<AskOptions["task"]>("@effect-mcp/gateway/AskedTask", {
  defaultValue: () => undefined
})

/** Passes a question on, with the options by which it asks for a task where the question of the upstream server does. */
export const asAsked = <A, E, R>(
  pass: (options: Pick<AskOptions, "task">) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.flatMap(AskedTask, (task) => pass(task === undefined ? {} : { task }))

/** Which questions a client runs as tasks. */
const runsOf = ({ capabilities, revision }: ClientDeclaration) => {
  const requests = Extension.isIn(CoreTasks, revision) ? capabilities.tasks?.requests : undefined
  return {
    sampling: requests?.sampling?.createMessage !== undefined,
    elicitation: requests?.elicitation?.create !== undefined
  }
}

/** The receiver of tasks for a conversation on behalf of a client; none for a client that runs no questions as tasks. */
export const receiving = (client: ClientDeclaration): Effect.Effect<Context.Context<never>> => {
  const runs = runsOf(client)
  if (!runs.sampling && !runs.elicitation) return Effect.succeed(Context.empty())
  return Effect.map(Effect.provide(TaskReceiver, layerMemory()), ({ make }) =>
    Context.make(TaskReceiver, {
      make: Effect.map(make, (receiver): Receiver => ({
        capabilities: ({ elicitation, sampling }) =>
          receiver.capabilities({
            elicitation: elicitation && runs.elicitation,
            sampling: sampling && runs.sampling
          }),
        create: (method, task, answer) => {
          const ttl = typeof task["ttl"] === "number" && task["ttl"] >= 0 ? { ttl: task["ttl"] } : {}
          return receiver.create(method, task, Effect.provideService(answer, AskedTask, ttl))
        },
        receive: (request) => receiver.receive(request)
      }))
    })
  )
}
