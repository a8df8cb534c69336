/**
 * The client that the official conformance suite drives: `client.ts URL`. `MCP_CONFORMANCE_SCENARIO` selects the scenario,
 * `MCP_CONFORMANCE_PROTOCOL_VERSION` the revision, and `MCP_CONFORMANCE_CONTEXT` has any other input of the scenario.
 *
 * Exits with 0 if the scenario succeeds. Logs only to stderr.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as SkillFiles from "@effect-mcp/skills/SkillFiles"
import * as SkillStore from "@effect-mcp/skills/SkillStore"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

type Client = McpClient.McpClient["Service"]

class Usage extends Schema.TaggedError<Usage>()("Usage", { message: Schema.String }) {}

const Context = Schema.Record(Schema.String, Schema.Unknown)
const ToolCalls = Schema.Array(
  Schema.Struct({ name: Schema.String, arguments: Schema.Record(Schema.String, Schema.Unknown) })
)

const listed = (client: Client) => Stream.runCollect(client.listTools)

/** Example arguments for tools, by type. */
const samples: { readonly [type: string]: unknown } = { number: 2, integer: 2, boolean: true, string: "text" }

/** Calls every listed tool. */
const callAll = Effect.fnUntraced(function* (client: Client) {
  for (const { inputSchema, name } of yield* listed(client)) {
    const properties = isJsonObject(inputSchema["properties"]) ? inputSchema["properties"] : {}
    const args = Object.entries(properties).map(([field, schema]) => {
      const type = isJsonObject(schema) ? schema["type"] : undefined
      return [field, typeof type === "string" ? samples[type] : "text"] as const
    })
    yield* client.callToolByName(name, Object.fromEntries(args))
  }
})

/** Lists everything, and uses one item of each kind. */
const tour = Effect.fnUntraced(function* (client: Client) {
  const { prompts, resources, tools } = client.serverCapabilities
  if (tools !== undefined) yield* callAll(client)
  if (resources !== undefined) {
    for (const { uri } of yield* Stream.runCollect(client.listResources)) yield* client.readResource(uri)
  }
  if (prompts !== undefined) {
    for (const { arguments: args = [], name } of yield* Stream.runCollect(client.listPrompts)) {
      yield* client.getPromptByName(name, Object.fromEntries(args.map((argument) => [argument.name, "text"])))
    }
  }
})

/** Approves every skill, and keeps none on disk. */
const skillStore = SkillStore.layer({ consent: () => Effect.succeed(true) }).pipe(Layer.provide(SkillFiles.layerMemory))

const tampered = "skill://pdf-processing/SKILL.md"

/** Lists the skills, and fails if one that was tampered with for this reason can be loaded. */
const refuses =
  (reason: SkillStore.SkillReason) =>
  (client: Client): Effect.Effect<unknown, unknown> =>
    Effect.gen(function* () {
      const skills = (yield* SkillStore.SkillStore).connected("conformance", client)
      yield* skills.list
      const loaded = yield* Effect.result(skills.load(tampered))
      const isExpected = (error: SkillStore.StoreFailure) => error._tag === "SkillRefused" && error.reason === reason
      yield* Result.match(loaded, {
        onSuccess: ({ read }) => read("references/FORMS.md"),
        onFailure: (error) => (isExpected(error) ? Effect.void : Effect.fail(error))
      })
    }).pipe(Effect.provide(skillStore))

/** Scenarios that need more than the tour. */
const scenarios: { readonly [name: string]: (client: Client, context: unknown) => Effect.Effect<unknown, unknown> } = {
  "json-schema-ref-no-deref": listed,
  "sep-2640-client-no-prefetch": (client) =>
    Effect.provide(
      Effect.flatMap(SkillStore.SkillStore, (store) => store.connected("conformance", client).list),
      skillStore
    ),
  "sep-2640-client-verify-digest": refuses("digest"),
  "sep-2640-client-verify-frontmatter": refuses("frontmatter"),
  "sep-2640-client-verify-size": refuses("size"),
  "json-schema-2020-12-preservation": Effect.fnUntraced(function* (client: Client) {
    const tool = (yield* listed(client)).find(({ name }) => name === "json_schema_2020_12_tool")
    yield* client.callToolByName("json_schema_echo", { schema: tool?.inputSchema })
  }),
  "http-custom-headers": Effect.fnUntraced(function* (client: Client, context: unknown) {
    yield* listed(client)
    const { toolCalls } = yield* Schema.decodeUnknownEffect(Schema.Struct({ toolCalls: ToolCalls }))(context)
    for (const { arguments: args, name } of toolCalls) yield* client.callToolByName(name, args)
  })
}

/** Fills in no fields, so fields with a default use it. */
const user = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: {} }) })

const program = Effect.gen(function* () {
  const url = process.argv[2]
  if (url === undefined) return yield* new Usage({ message: "Where is the server? client.ts URL" })
  const {
    MCP_CONFORMANCE_CONTEXT: told = "{}",
    MCP_CONFORMANCE_PROTOCOL_VERSION: version = "",
    MCP_CONFORMANCE_SCENARIO: scenario = ""
  } = process.env
  const context = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Context))(told)
  const revision = Revision.get(version)
  if (scenario.startsWith("auth/")) {
    const { run } = yield* Effect.promise(() => import("./clientAuth.ts"))
    return yield* run(scenario, url, revision?.version ?? Revision.latestStateful.version, context)
  }
  const client = Layer.provide(
    McpClient.layerHttp({ url, revisions: revision === undefined ? undefined : [revision.version] }),
    [FetchHttpClient.layer, user]
  )
  return yield* Effect.provide(
    Effect.flatMap(McpClient.McpClient, (client) => (scenarios[scenario] ?? tour)(client, context)),
    client
  )
})

program.pipe(Effect.provideService(Logger.LogToStderr, true), NodeRuntime.runMain)
