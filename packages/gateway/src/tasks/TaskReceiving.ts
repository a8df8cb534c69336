/**
 * Handles questions the upstream server asks as tasks (2025-11-25), for downstream clients that can run them as tasks.
 *
 * The gateway runs the upstream question's task itself for as long as the connection lasts. It asks the client to run a task in turn and
 * responds with the answer. It declares nothing the client did not declare.
 */
import { layerMemory, type Receiver, TaskReceiver } from "@effect-mcp/client/TaskReceiver"
import type { AskOptions, ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { CoreTasks } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The task that the upstream server asked for in the question being answered. */
const AskedTask = Context.Reference<AskOptions["task"]>("@effect-mcp/gateway/AskedTask", {
  defaultValue: () => undefined
})

/** Forwards a question. If the upstream server asked for a task, the options ask for one too. */
export const asAsked = <A, E, R>(
  pass: (options: Pick<AskOptions, "task">) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.flatMap(AskedTask, (task) => pass(task === undefined ? {} : { task }))

/** Returns which questions a client runs as tasks. */
const runsOf = ({ capabilities, revision }: ClientDeclaration) => {
  const requests = Extension.isIn(CoreTasks, revision) ? capabilities.tasks?.requests : undefined
  return {
    sampling: requests?.sampling?.createMessage !== undefined,
    elicitation: requests?.elicitation?.create !== undefined
  }
}

/** Returns the task receiver for a client's upstream connection, or an empty context if the client runs no questions as tasks. */
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
