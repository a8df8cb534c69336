/** Access to another client's tasks: a correct server, and servers with one fault each. */
import { Tool, Tools } from "@effect-mcp/core"
import { Principal } from "@effect-mcp/core/Principal"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { assertFinds, type Faulty } from "./finds.ts"
import { type Between, type Json, target } from "./httpTarget.ts"

const Brief = Tool.make("brief", { description: "Works at once, as a task.", task: "required" })
const Job = Tool.make("job", { description: "Works for ever, as a task.", task: "required" })
const features = Layer.mergeAll(
  Tools.layer(Brief, () => Effect.succeed("done")),
  Tools.layer(Job, () => Effect.never),
  Tasks.layer({ pollInterval: "100 millis" })
)
const server = McpServer.layer({ name: "tasks", version: "1.0.0", features }).pipe(Layer.provideMerge(Logger.layer([])))

const user = "x-user"

/** The caller is the user that a header names. */
const signedIn = HttpRouter.middleware<{ provides: Principal }>()((route) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Effect.provideService(route, Principal, { subject: headers[user] ?? "nobody", scopes: [], claims: {} })
  )
)

const withUsers = {
  headers: { [user]: "ada" },
  strangerHeaders: { [user]: "eve" },
  serve: (served: typeof server) => {
    const endpoint = McpServer.layerHttp({ path: "/mcp" }).pipe(
      Layer.provide(signedIn.layer),
      Layer.provide([served, HttpServer.layerServices])
    )
    const { dispose, handler } = HttpRouter.toWebHandler(endpoint, { disableLogger: true })
    return { dispose, handler: (request: Request) => handler(request) }
  }
}

const revisions = Revision.all.filter(({ version }) => version >= "2025-11-25")
const [core, extension] = ["2025-11-25", "2026-07-28"] as const
const session = "mcp-session-id"
const declared = {
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } }
}
const isOf =
  (...methods: ReadonlyArray<string>) =>
  (message: Json) =>
    methods.includes(message?.method)

/** Moves some requests of a stranger into the owner's newest session. */
const confused =
  (isConfused: (message: Json) => boolean): Between =>
  () => {
    let owners: string | null = null
    return ({ message, next, request: { headers } }) => {
      if (headers.get(user) === "ada") owners = headers.get(session) ?? owners
      return headers.get(user) === "eve" && isConfused(message) ? next({ [user]: "ada", [session]: owners }) : undefined
    }
  }

/** Changes the ids of tasks. */
const renamed =
  (nameOf: (count: number) => string): Between =>
  () => {
    const [named, known] = [new Map<string, string>(), new Map<string, string>()]
    return async ({ message, next }) => {
      const { taskId } = message?.params ?? {}
      const id = known.get(taskId)
      const response =
        id === undefined
          ? await next()
          : await next({ "mcp-name": id }, { ...message, params: { ...message.params, taskId: id } })
      if (!isOf("tools/call", "tasks/get", "tasks/cancel")(message)) return response
      const text = (await response.text()).replaceAll(/\bt[\w-]{43}/g, (id) => {
        const name = named.get(id) ?? nameOf(named.size)
        named.set(id, name)
        known.set(name, id)
        return name
      })
      return new Response(text, { status: response.status, headers: Object.fromEntries(response.headers) })
    }
  }

/** Lists the tasks of all clients, although it cannot distinguish them. */
const talkative: Between = () => {
  const tasks: Array<Json> = []
  return async ({ message, next }) => {
    if (message?.method === "tasks/list") return Response.json({ jsonrpc: "2.0", id: message.id, result: { tasks } })
    const response = await next()
    if (message?.method !== "tools/call") return response
    const text = await response.clone().text()
    const [task] = /\{"taskId".*?\}/.exec(text) ?? []
    if (task !== undefined) tasks.push(JSON.parse(task))
    return response
  }
}

interface Mutant extends Faulty {
  readonly name: string
  readonly between: Between
  /** True if callers have names. */
  readonly users: boolean
}

const mutants: ReadonlyArray<Mutant> = [
  ...["tasks/get", "tasks/result", "tasks/cancel"].map((verb) => ({
    name: `takes any principal for the owner in ${verb}`,
    finds: `task-foreign-rejected ${verb}`,
    users: true,
    between: confused(isOf(verb))
  })),
  {
    name: "lists other principals' tasks",
    finds: "task-list-own",
    users: true,
    between: confused(isOf("tasks/list"))
  },
  {
    name: "lists anonymous clients' tasks",
    finds: "task-list-undeclared",
    users: false,
    between: talkative
  },
  { name: "uses sequential task ids", finds: "task-id-entropy", users: false, between: renamed((count) => `${count}`) },
  ...["tasks/get", "tasks/update", "tasks/cancel"].map((verb) => ({
    name: `takes any principal for the owner in ${verb} of the extension`,
    finds: `task-caller-checked ${verb}`,
    revision: extension,
    users: true,
    between: confused(isOf(verb))
  })),
  {
    name: "uses sequential extension task ids",
    finds: "task-id-unguessable counted",
    revision: extension,
    users: true,
    between: renamed((count) => `task-of-the-server-${count}`)
  }
]

describe("Fuzzing with two clients on a task server", () => {
  it.live.each(
    revisions.flatMap(({ version }) => [
      {
        version,
        stranger: true,
        keeps: version === core ? ["task-foreign-rejected", "task-list-own"] : ["task-caller-checked"]
      },
      { version, stranger: false, keeps: version === core ? ["task-id-entropy"] : ["task-id-unguessable"] }
    ])
  )("One client's tasks are out of another's reach on a correct server: %j", ({ keeps, stranger, version }) =>
    Effect.gen(function* () {
      const right = yield* target(undefined, server, stranger ? withUsers : {})
      const [survey] = yield* Fuzz.survey(right, {
        revisions: revisions.filter((revision) => revision.version === version)
      })
      const job = version === core ? { task: {} } : { _meta: declared }
      const verbs = ["tasks/get", version === core ? "tasks/result" : "tasks/update", "tasks/cancel"] as const
      const asks = verbs.map((method) => ({ _tag: "Task", method, which: "newest" }) as const)
      const { counts, found } = yield* Fuzz.play(
        right,
        survey ?? { revision: version, capabilities: {}, tools: [], prompts: [], resources: [], templates: [] },
        {
          revision: version,
          commands: [
            { _tag: "Open" },
            { _tag: "Request", method: "tools/call", params: { name: "job", arguments: {}, ...job } },
            { _tag: "Wait" },
            {
              _tag: "Beside",
              stranger,
              commands: [{ _tag: "Open" }, ...asks, { _tag: "Request", method: "tasks/list" }]
            }
          ]
        },
        { rules: Fuzz.rules, patience: 1000 }
      )
      assert.deepStrictEqual(found, [])
      for (const rule of keeps) assert.isAbove(counts.get(rule)?.kept ?? 0, 0, rule)
    })
  )

  it.live.each(mutants)("The fuzzer finds a server that exposes tasks to others: it $name", (mutant) =>
    Effect.flatMap(target(mutant.between, server, mutant.users ? withUsers : {}), (target) =>
      assertFinds(target, mutant)
    )
  )
})
