/** Subscriptions (2026-07-28: basic/patterns/subscriptions), and lists that a client watches in every revision. */
import type { Raw } from "@effect-mcp/client/McpClient"
import { toPublic } from "@effect-mcp/promise/internal/compat"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { plain } from "../model/plain.ts"
import { errorOf, type OnError, report } from "../model/report.ts"
import { toSdk } from "../request/errors.ts"
import type { Prompt, Resource, Tool } from "../model/types.ts"
import type { ListChanged, ListChangedHandlers } from "./Options.ts"
import type { McpSubscription, SubscriptionFilter } from "./Subscription.ts"

/** Runs a subscription. `notified` is called with the server's announcements. */
export const listen = (
  events: ReturnType<Raw["listen"]>,
  notified: (method: string, params: object) => void
): Promise<McpSubscription> =>
  new Promise((resolve, reject) => {
    const running = Stream.runForEach(events, (event) =>
      Effect.sync(() => {
        if (event._tag === "Notification") return notified(event.method, event.params)
        resolve({
          honoredFilter: plain(event.granted),
          close: async () => void (await Effect.runPromiseExit(Fiber.interrupt(fiber)))
        })
      })
    )
    const fiber = Effect.runFork(running)
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit)) reject(toSdk(toPublic(Cause.squash(exit.cause))))
    })
  })

interface Fresh {
  readonly cacheMode: "refresh"
}

/** The client whose lists are watched. */
interface Lists {
  listTools(params: undefined, options: Fresh): Promise<{ tools: Array<Tool> }>
  listPrompts(params: undefined, options: Fresh): Promise<{ prompts: Array<Prompt> }>
  listResources(params: undefined, options: Fresh): Promise<{ resources: Array<Resource> }>
}

interface Watching extends Lists {
  readonly onerror?: OnError
  setNotificationHandler(method: string, handler: () => unknown): void
  getProtocolEra(): "legacy" | "modern" | undefined
  listen(filter: SubscriptionFilter): Promise<McpSubscription>
}

/** For each list: the method that announces changes, the filter that subscribes to them, and a function that reads the list. */
const lists = {
  tools: {
    method: "notifications/tools/list_changed",
    filter: { toolsListChanged: true },
    read: async (client: Lists) => (await client.listTools(undefined, { cacheMode: "refresh" })).tools
  },
  prompts: {
    method: "notifications/prompts/list_changed",
    filter: { promptsListChanged: true },
    read: async (client: Lists) => (await client.listPrompts(undefined, { cacheMode: "refresh" })).prompts
  },
  resources: {
    method: "notifications/resources/list_changed",
    filter: { resourcesListChanged: true },
    read: async (client: Lists) => (await client.listResources(undefined, { cacheMode: "refresh" })).resources
  }
}

const changed = async <A>(
  { autoRefresh = true, onChanged }: ListChanged<A>,
  read: () => Promise<Array<A>>
): Promise<void> => {
  if (!autoRefresh) return onChanged(null, null)
  const [error, items] = await read().then(
    (items) => [null, items] as const,
    (thrown: unknown) => [errorOf(thrown), null] as const
  )
  return onChanged(error, items)
}

/** Calls the handlers of lists when the lists change. Returns the subscription that it opened, in revisions that have subscriptions. */
export const watchLists = async (
  client: Watching,
  { prompts, resources, tools }: ListChangedHandlers = {}
): Promise<McpSubscription | undefined> => {
  if (tools) client.setNotificationHandler(lists.tools.method, () => changed(tools, () => lists.tools.read(client)))
  if (prompts) {
    client.setNotificationHandler(lists.prompts.method, () => changed(prompts, () => lists.prompts.read(client)))
  }
  if (resources) {
    client.setNotificationHandler(lists.resources.method, () => changed(resources, () => lists.resources.read(client)))
  }
  const watched = [tools && lists.tools, prompts && lists.prompts, resources && lists.resources]
  if (client.getProtocolEra() !== "modern" || watched.every((list) => list === undefined)) return undefined
  try {
    return await client.listen(Object.assign({}, ...watched.map((list) => list?.filter)))
  } catch (error) {
    // The client stays connected if its server rejects subscriptions, as in the SDK.
    report(client.onerror, error)
    return undefined
  }
}
