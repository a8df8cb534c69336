/** Paths within the client's roots. */
import * as Roots from "@effect-mcp/core/Roots"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"

const within = (path: string, ...uris: ReadonlyArray<string>) =>
  Effect.provide(Roots.within(path), Roots.layerStatic(uris.map((uri) => ({ uri }))))

const work = "file:///srv/my%20app"

describe("Roots.within", () => {
  it.effect.each([
    ["/srv/my app", work],
    ["/srv/my app/", work],
    ["/srv/my app/src/a.ts", work],
    ["/srv/my app/./src", work],
    ["//srv//my app/a#b?c%20d", work],
    ["/srv/my app/..hidden", work],
    ["file:///srv/my%20app/src", work],
    ["file:///srv/my%20app/src", `${work}/`],
    ["file://localhost/srv/my%20app", work],
    ["/anything", "file:///"],
    ["C:\\Users\\ada\\notes.txt", "file:///c:/Users/ada"],
    ["c:/Users/ada/notes.txt", "file:///C:/Users/ada"],
    ["\\\\server\\share\\docs\\a", "file://server/share/docs"],
    ["/other/a", "file:///none", "file:///other"]
  ] as ReadonlyArray<ReadonlyArray<string>>)(
    "A path at a root or below it is within it: %s",
    ([path = "", ...roots]) =>
      Effect.gen(function* () {
        assert.isTrue(yield* within(path, ...roots))
      }),
    verifies("roots.server.boundaries")
  )

  it.effect.each([
    ["/srv/my app2", work],
    ["/srv/my", work],
    ["/srv", work],
    ["/", work],
    ["", work],
    ["work/my app/a", work],
    ["./a", "file:///"],
    ["~/a", "file:///"],
    ["/srv/my app/../secret", work],
    ["/srv/my app/..", work],
    ["/srv/my app\\..\\secret", work],
    ["file:///srv/my%20app/%2e%2E/secret", work],
    ["file:///srv/my%20app/..%2fsecret", work],
    ["file:///srv/my%20app/a%5C..%5Cb", work],
    ["file:///srv/my%20app/%00", work],
    ["file:///srv/my%20app/%zz", work],
    ["/srv/my app/a\0", work],
    ["https://example.com/srv/my%20app", work],
    ["file://server/srv/my%20app", work],
    ["\\\\?\\C:\\Users\\ada\\a", "file:///C:/Users/ada"],
    ["\\\\other\\share\\docs\\a", "file://server/share/docs"],
    ["D:\\Users\\ada\\a", "file:///C:/Users/ada"],
    ["/srv/My App/a", work],
    ["/srv/a"],
    ["/srv/a", "https://example.com/srv"],
    ["/srv/a", "/srv"],
    ["/srv/a", "file:///srv/.."],
    ["/srv/a", "nonsense"]
  ] as ReadonlyArray<ReadonlyArray<string>>)(
    "A path elsewhere is not within a root: %s",
    ([path = "", ...roots]) =>
      Effect.gen(function* () {
        assert.isFalse(yield* within(path, ...roots))
      }),
    verifies("roots.server.paths-validated")
  )

  it.effect("Any path made of plain names is inside its parent folders", () =>
    Effect.gen(function* () {
      const checked = yield* Arbitrary.checkEffect(
        Arbitrary.array(Arbitrary.schema(Schema.String), { maxLength: 5 }),
        (parts) => {
          const names = parts
            .map((part) => part.toWellFormed().replaceAll(/[/\\\0]/g, "_"))
            .filter((part) => part !== "" && part !== "." && !/^(\.|%2e){2}$/i.test(part))
          const url = `file:///top/${names.map(encodeURIComponent).join("/")}`
          return Effect.map(
            Effect.all([
              within(`/top/${names.join("/")}`, "file:///top"),
              within(url, "file:///top"),
              within(`/top/${names.join("/")}`, url)
            ]),
            (results) => results.every(Boolean)
          )
        },
        { runs: 200 }
      )
      assert.isUndefined(Arbitrary.formatCheckFailure(checked))
    })
  )
})
