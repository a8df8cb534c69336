/** Serves the `effect-mcp ui` page. A separate module, because no other command needs it. */
import * as AppHost from "@effect-mcp/apps/AppHost"
import * as LocalPage from "@effect-mcp/apps/LocalPage"
import * as Memory from "@effect-mcp/core/Memory"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Ui from "@effect-mcp/ui/Ui"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import * as path from "node:path"
import type { Served } from "../proxy/Proxy.ts"
import { cannotServe } from "../proxy/ProxyHttp.ts"
import { rootsOf } from "../session/Session.ts"
import type { Settings } from "../target/Settings.ts"
import { stateFolder } from "../target/stateFolder.ts"
import type { CommandTarget } from "../target/Target.ts"
import { Output } from "../terminal/Output.ts"

const host = "127.0.0.1"

/** The file that keeps a server's runs. A command is another server in another folder, a URL is not. */
const historyOf = ({ mayDemandLogin, name }: CommandTarget, cwd: string | undefined): string => {
  const key = mayDemandLogin === true ? name : `${name}\n${path.resolve(cwd ?? ".")}`
  return path.join(stateFolder("ui"), `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.jsonl`)
}

/** The target behind a gateway, so that a connected page doesn't notice when the target restarts. */
export const behind = (target: CommandTarget, gateway: Served): CommandTarget => ({
  ...target,
  connect: Effect.fnUntraced(function* () {
    const [client, server] = yield* Memory.pair()
    const built = yield* Layer.build(gateway)
    yield* Context.get(built, McpServer.McpServer).connect(server)
    return client
  })
})

/** Serves the page until interrupted. */
export const show = Effect.fnUntraced(function* (
  target: CommandTarget,
  settings: Settings,
  { history, port }: { readonly port: number; readonly history: boolean }
) {
  const output = yield* Output
  const { cwd, env, headers, revision, sample, transport } = settings
  const [first = ""] = target.words ?? []
  const app = Effect.gen(function* () {
    const { url } = yield* Ui.serve({
      name: target.name,
      words: target.words,
      url: target.mayDemandLogin === true && URL.canParse(first) ? first : undefined,
      connect: (hooks) => target.connect({ cwd, env, headers, transport, ...hooks }),
      revision,
      roots: yield* rootsOf(settings.roots),
      replies: sample === undefined ? [] : [sample],
      history: history ? historyOf(target, cwd) : undefined,
      extensions: AppHost.declaration,
      view: (client, call) => Effect.map(LocalPage.serve(client, call), (page) => page.url)
    })
    yield* output.line(url)
    yield* output.note("Open the page in a browser. End with Ctrl+C.")
    return yield* Effect.never
  })
  return yield* Effect.scoped(app).pipe(
    Effect.provide(
      Layer.fresh(NodeHttpServer.layer(createServer, { port, host, gracefulShutdownTimeout: "100 millis" }))
    ),
    Effect.catchTag("ServeError", ({ cause }) => Effect.fail(cannotServe(cause, host, port)))
  )
})
