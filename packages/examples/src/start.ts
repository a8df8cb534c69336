/**
 * The program behind `npm start [-- folder [text]]`: runs the workspace server as a child process and talks to it with our own client.
 * Every step shows one thing that MCP can do. The folder is only read; steps that change files use a scratch folder.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Elicitation, Sampling, type Tool } from "@effect-mcp/core"
import {
  Context,
  Data,
  Deferred,
  Effect,
  Fiber,
  FileSystem,
  Layer,
  Path,
  Runtime,
  Stream
} from "effect"
import { fileURLToPath } from "node:url"
import * as Screen from "./Screen.ts"
import { Rename, Review, Search, Summarize } from "./workspace/tools.ts"

type Client = McpClient.McpClient["Service"]
type Found =
  typeof Search extends Tool.Tool<infer _I, infer O, infer _F> ? O : never

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/**
 * Answers the server's questions. A host would show a dialog or call a model;
 * the demonstration answers instead and prints it.
 */
const host = Layer.mergeAll(
  Elicitation.layer({
    form: ({ message }) =>
      Effect.as(Screen.detail(`the server asks the user: "${message}" … yes`), {
        action: "accept" as const,
        content: {}
      })
  }),
  Sampling.layer((params) =>
    Effect.as(
      Screen.detail(
        `the server asks the model: "${params.systemPrompt?.slice(0, 60)}…"`
      ),
      {
        role: "assistant" as const,
        model: "a parrot",
        content: { type: "text" as const, text: "A note that says hello." }
      }
    )
  )
)

/** Starts a server for a folder, which runs until the scope closes. */
const open = (folder: string) =>
  Effect.map(
    Layer.build(
      McpClient.layerStdio({
        command: process.execPath,
        args: [here("workspace/server.ts"), folder]
      }).pipe(Layer.provide(host))
    ),
    (context) => Context.get(context, McpClient.McpClient)
  )

const milliseconds = (since: number) =>
  `${Math.round(performance.now() - since)} ms`

const offers = Effect.fnUntraced(function* (client: Client) {
  const tools = yield* Stream.runCollect(client.listTools)
  const prompts = yield* Stream.runCollect(client.listPrompts)
  const templates = yield* Stream.runCollect(client.listResourceTemplates)
  const resources = yield* Stream.runCollect(client.listResources)
  yield* Screen.line(tools.map(({ name }) => name).join(", "), "tools")
  yield* Screen.line(
    prompts
      .map(
        ({ arguments: args = [], name }) =>
          `${name}(${args.map((a) => a.name + (a.required ? "" : "?")).join(", ")})`
      )
      .join(", "),
    "prompts"
  )
  yield* Screen.line(
    `${resources.length} files, listed page by page, as ${templates.map(({ uriTemplate }) => uriTemplate).join(", ")}`,
    "resources"
  )
  return resources
})

/** A tool call: typed input, progress while it runs, typed output. */
const search = Effect.fnUntraced(function* (client: Client, query: string) {
  yield* Screen.line(`the tool, for "${query}", with progress`, "search")
  const bar = Screen.bar()
  const since = performance.now()
  yield* client
    .callToolStream(Search, { query, maxResults: 1000 })
    .pipe(
      Stream.runForEach((event) =>
        event._tag === "Progress"
          ? bar.show(event.progress, event.total ?? 0)
          : Effect.andThen(bar.clear, found(event.value, milliseconds(since)))
      )
    )
})

const found = Effect.fnUntraced(function* (
  { files, matches }: Found,
  time: string
) {
  yield* Screen.detail(`${matches.length} matches in ${files} files, ${time}`)
  for (const { line, path, text } of matches.slice(0, 2))
    yield* Screen.detail(`${path}:${line}  ${text.slice(0, 60)}`)
})

/**
 * Leaving a call's stream cancels it: the server stops within one file's work.
 */
const cancel = Effect.fnUntraced(function* (client: Client) {
  const last = yield* client
    // Found nowhere, so that the search doesn't end before it is left.
    .callToolStream(Search, { query: "neither here nor there" })
    .pipe(
      Stream.filter((event) => event._tag === "Progress"),
      Stream.runHead
    )
  if (last._tag === "Some") {
    yield* Screen.line(
      `left another search after ${last.value.progress} of ${last.value.total} files: the server stops, too`,
      "cancel"
    )
  }
})

const read = Effect.fnUntraced(function* (client: Client, uri: string) {
  const { contents } = yield* client.readResource(uri)
  for (const content of contents) {
    const size =
      "text" in content
        ? `${content.text.length} characters`
        : `${content.blob.length} of base64`
    yield* Screen.line(`${content.uri}  (${content.mimeType}, ${size})`, "read")
  }
})

const complete = Effect.fnUntraced(function* (client: Client, value: string) {
  const { total = 0, values } = yield* client.complete({
    ref: { type: "ref/prompt", name: Review.name },
    argument: { name: "path", value }
  })
  const more = total > 3 ? `, … ${total} in all` : ""
  yield* Screen.line(
    `review(path: "${value}▏")  →  ${values.slice(0, 3).join(", ")}${more}`,
    "complete"
  )
})

/** Runs every step that changes files, in a separate folder. */
const scratch = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.realPath(
    yield* fs.makeTempDirectoryScoped({ prefix: "effect-mcp-" })
  )
  const note = path.join(folder, "note.md")
  yield* fs.writeFileString(note, "hello\n")
  const client = yield* open(folder)
  const { href: uri } = yield* path.toFileUrl(note)

  yield* Screen.line(
    "a resource, subscribed to while another program writes it",
    "watch"
  )
  const watching = Deferred.makeUnsafe<void>()
  const since = performance.now()
  const update = yield* client.watchResource(uri).pipe(
    Stream.tap(({ _tag }) =>
      _tag === "Watching" ? Deferred.succeed(watching, undefined) : Effect.void
    ),
    Stream.filter(({ _tag }) => _tag === "Updated"),
    Stream.mapEffect(() => client.readResourceText(uri)),
    // A file is emptied before it is written again, and an update may arrive in
    // between.
    Stream.filter((text) => text !== ""),
    Stream.runHead,
    Effect.forkChild
  )
  yield* Deferred.await(watching)
  yield* fs.writeFileString(note, "hello, world\n")
  const seen = yield* Fiber.join(update)
  if (seen._tag === "Some")
    yield* Screen.detail(
      `note.md is now "${seen.value.trim()}" (${milliseconds(since)})`
    )

  yield* Screen.line(
    "a tool that needs a model, and borrows the client's",
    "sampling"
  )
  const { content } = yield* client.callTool(Summarize, { path: "note.md" })
  for (const block of content)
    if (block.type === "text")
      yield* Screen.detail(`summarize(note.md) = "${block.text}"`)

  yield* Screen.line(
    "a tool that changes something, and asks the user first",
    "elicitation"
  )
  const { from, to } = yield* client.callTool(Rename, {
    from: "note.md",
    to: "greeting.md"
  })
  yield* Screen.detail(
    `${from} is ${to} now: ${(yield* fs.readDirectory(folder)).join(", ")}`
  )
})

/** Said on the screen already: exits with 1 and no more words. */
class NoSuchFolder extends Data.TaggedError("NoSuchFolder")<{}> {
  override readonly [Runtime.errorReported] = false
}

/** The folder to show: the repository, or the one that was given. */
const chosen = Effect.gen(function* () {
  const path = yield* Path.Path
  // npm runs this in the repository; a folder that was given is meant from
  // where the user is.
  const given = process.argv[2]
  const folder =
    given === undefined
      ? path.resolve(here("../../.."))
      : path.resolve(process.env["INIT_CWD"] ?? process.cwd(), given)
  if (yield* (yield* FileSystem.FileSystem).exists(folder)) return folder
  yield* Screen.line(`there is no folder ${folder}`, "workspace")
  return yield* new NoSuchFolder()
})

const demo = Effect.gen(function* () {
  const folder = yield* chosen
  const since = performance.now()
  const client = yield* open(folder)
  yield* Screen.blank
  yield* Screen.line(
    `an MCP server over ${folder}, and a client of it`,
    "workspace"
  )
  const { name, version } = client.serverInfo
  yield* Screen.line(
    `${name} ${version}, a child process, speaking ${client.revision.version} over stdio, in ${milliseconds(since)}`,
    "connected"
  )
  const resources = yield* offers(client)
  yield* search(client, process.argv[3] ?? "effect.never")
  yield* cancel(client)
  const first =
    resources.find(({ name }) => /^(readme\.md|package\.json)$/i.test(name)) ??
    resources[0]
  if (first !== undefined) yield* read(client, first.uri)
  const deep = resources.find(({ name }) => name.split("/").length > 3) ?? first
  if (deep !== undefined)
    yield* complete(client, deep.name.slice(0, deep.name.lastIndexOf("/") + 4))
  yield* scratch
  yield* Screen.blank
})

demo.pipe(
  Effect.scoped,
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
