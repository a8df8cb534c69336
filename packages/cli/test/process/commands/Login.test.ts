import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { protectedServer, user } from "../../support/login.ts"

const linux = needs(process.platform === "linux", "the browser's name is that of Linux")
describe("effect-mcp login", { ...linux, timeout: 300_000 }, () => {
  it.live("login uses the browser, after which calls are admitted, and logout logs out", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* protectedServer
      const { run, tokens } = yield* user

      const before = yield* run("whoami", url)
      assert.deepStrictEqual([before.code, before.stdout, before.stderr], [1, "", "Not logged in\n"])
      const refused = yield* run("tools", "--json", "--", url)
      assert.strictEqual(refused.code, 3)
      assert.match(refused.stderr, /this program cannot prompt one.*effect-mcp login.*--header 'Authorization: Bearer/s)

      const login = yield* run("login", url)
      assert.strictEqual(login.code, 0, login.stderr)
      assert.include(login.stderr, `To log in, open this page if your browser does not: ${issuer.issuer}/authorize?`)
      assert.match(login.stdout, new RegExp(`logged in at +${issuer.issuer}`))

      const who = yield* run("whoami", "--json", "--", url)
      assert.deepInclude(JSON.parse(who.stdout), { server: url, issuer: issuer.issuer, resource: url })
      const tools = yield* run("tools", "--json", "--", url)
      assert.strictEqual(tools.code, 0, tools.stderr)
      assert.include(tools.stdout, "test_simple_text")
      assert.strictEqual(yield* issuer.count("authorize"), 1)

      const out = yield* run("logout", url)
      assert.deepStrictEqual([out.code, out.stderr], [0, "Logged out\n"])
      assert.strictEqual(yield* issuer.count("revoke"), 2)
      assert.strictEqual((yield* run("whoami", url)).code, 1)
      for (const name of readdirSync(tokens))
        assert.notMatch(readFileSync(join(tokens, name), "utf8"), /accessToken|refreshToken/)
    })
  )

  it.live(
    "A call on a terminal that requires a login logs in, and only once",
    () =>
      Effect.gen(function* () {
        const { issuer, url } = yield* protectedServer
        const { atTerminal } = yield* user
        for (const logins of [1, 1]) {
          const called = yield* atTerminal("call", "add", "a=1", "b=2", "--json", "--", url)
          assert.strictEqual(called.code, 0, called.stdout)
          assert.include(called.stdout.replaceAll(/\s/g, ""), '"sum":3')
          assert.strictEqual(yield* issuer.count("authorize"), logins)
        }
      }),
    needs(existsSync("/usr/bin/script"), "a terminal by util-linux's script")
  )

  it.live("login explains what is wrong with a command line, and that the user declined", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* protectedServer
      const { run } = yield* user
      const none = yield* run("login")
      assert.deepStrictEqual(
        [none.code, none.stderr],
        [2, "error: No server given. Example: effect-mcp login https://example.com/mcp\n"]
      )
      const local = yield* run("login", "--", "node", "server.js")
      assert.strictEqual(local.code, 2)
      assert.include(local.stderr, "Not the URL of a server: node server.js")
      yield* issuer.script({ approve: () => ({ error: "access_denied" }) })
      const declined = yield* run("login", url)
      assert.strictEqual(declined.code, 2)
      assert.include(declined.stderr, "the login was declined")
    })
  )
})
