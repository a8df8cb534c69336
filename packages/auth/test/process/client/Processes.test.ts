import * as AuthorizationCode from "@effect-mcp/auth/client/AuthorizationCode"
import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import * as TokenFiles from "@effect-mcp/auth/client/TokenFiles"
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as ProtectedResource from "@effect-mcp/testing/auth/ProtectedResource"
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:http"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const listen = () => Layer.fresh(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
const originOf = (context: Context.Context<HttpServer.HttpServer>) =>
  HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)

/** A process that is ready. `go` lets it make its calls and returns their statuses. */
const caller = (url: string, directory: string, calls: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const file = fileURLToPath(new URL("../../client/fixtures/caller.ts", import.meta.url))
        const child: ChildProcess = spawn(process.execPath, [file, url, directory, String(calls)], {
          stdio: ["pipe", "pipe", "inherit"]
        })
        const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
        assert.strictEqual((await lines.next()).value, "ready")
        return { child, lines }
      }),
      ({ child }) => Effect.sync(() => child.kill())
    ),
    ({ child, lines }) =>
      Effect.promise(async (): Promise<ReadonlyArray<number>> => {
        child.stdin?.write("go\n")
        return JSON.parse((await lines.next()).value ?? "[]")
      })
  )

describe("Processes sharing files", () => {
  it.live("Processes sharing files refresh an old token once, even concurrently", () =>
    Effect.gen(function* () {
      const issuerContext = yield* Layer.build(Layer.provide(AuthServer.layer(), listen()))
      const issuer = Context.get(issuerContext, AuthServer.AuthServer)

      // The server rejects every token that was issued before `old` was set.
      const seen = new Set<string>()
      const refused = new Set<string>()
      const httpServer = yield* Layer.build(listen())
      const origin = originOf(httpServer)
      const url = `${origin}/mcp`
      const endpoint = HttpRouter.add(
        "POST",
        "/mcp",
        Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) => {
          const token = headers["authorization"]?.slice("Bearer ".length)
          if (token === undefined || refused.has(token))
            return HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": "Bearer" } })
          seen.add(token)
          return HttpServerResponse.text("fine")
        })
      )
      const metadata = ProtectedResource.layer({ resource: url, authorizationServers: [issuer.issuer] })
      yield* Layer.build(
        HttpRouter.serve(Layer.mergeAll(endpoint, metadata), { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provide(Layer.succeedContext(httpServer))
        )
      )

      // Logs in in this process.
      const directory = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
      const client = OAuth.layer({ grant: AuthorizationCode.make({ clientName: "login" }) }).pipe(
        Layer.provide([TokenFiles.layer({ directory }), Authorizer.layerScripted()]),
        Layer.provide(FetchHttpClient.layer)
      )
      const response = yield* Effect.provide(HttpClient.post(url), client)
      assert.strictEqual(response.status, 200)

      const callers = yield* Effect.all(
        Array.from({ length: 4 }, () => caller(url, directory, 25)),
        { concurrency: "unbounded" }
      )
      for (const token of seen) refused.add(token)
      const statuses = yield* Effect.all(callers, { concurrency: "unbounded" })

      assert.deepStrictEqual(
        statuses.flat(),
        Array.from({ length: 100 }, () => 200)
      )
      assert.strictEqual(yield* issuer.count("refresh_token"), 1)
      assert.strictEqual(yield* issuer.count("authorize"), 1)
      assert.strictEqual(seen.size, 2)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
