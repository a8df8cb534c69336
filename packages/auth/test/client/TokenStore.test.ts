import * as TokenFiles from "@effect-mcp/auth/client/TokenFiles"
import { layerEncrypted, layerMemory, makeMemory, TokenStore } from "@effect-mcp/auth/client/TokenStore"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import * as World from "./support/world.ts"

const key = Redacted.make(new Uint8Array(32).fill(7))
const temporary = Layer.unwrap(
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return TokenFiles.layer({ directory: yield* fs.makeTempDirectoryScoped() })
  })
).pipe(Layer.provide(NodeServices.layer))

const stores = {
  "in memory": layerMemory,
  "in files": temporary,
  "encrypted in memory": Layer.provide(layerEncrypted(key), layerMemory),
  "encrypted in files": Layer.provide(layerEncrypted(key), temporary)
}

for (const [where, layer] of Object.entries(stores))
  describe(`TokenStore ${where}`, () => {
    const test = (title: string, body: Effect.Effect<void, unknown, TokenStore>) =>
      it.effect(title, () => Effect.provide(body, Layer.fresh(layer), { local: true }))

    test(
      "A store starts empty and returns the text of the last swap",
      Effect.gen(function* () {
        const store = yield* TokenStore
        assert.deepStrictEqual(yield* store.read("a"), { version: 0, text: undefined })
        assert.isTrue(yield* store.swap("a", 0, "one"))
        assert.deepStrictEqual(yield* store.read("a"), { version: 1, text: "one" })
        assert.isTrue(yield* store.swap("a", 1, "two"))
        assert.deepStrictEqual(yield* store.read("a"), { version: 2, text: "two" })
        assert.deepStrictEqual(yield* store.read("b"), { version: 0, text: undefined })
      })
    )

    test(
      "A stale version is not swapped",
      Effect.gen(function* () {
        const store = yield* TokenStore
        yield* store.swap("a", 0, "one")
        yield* store.swap("a", 1, "two")
        for (const version of [0, 1]) assert.isFalse(yield* store.swap("a", version, "late"))
        assert.strictEqual((yield* store.read("a")).text, "two")
        assert.isTrue(yield* store.swap("a", 2, "three"))
      })
    )

    test(
      "A store forgets a text but keeps counting versions",
      Effect.gen(function* () {
        const store = yield* TokenStore
        yield* store.swap("a", 0, "one")
        assert.isTrue(yield* store.swap("a", 1, undefined))
        const { text, version } = yield* store.read("a")
        assert.isUndefined(text)
        assert.isTrue(yield* store.swap("a", version, "again"))
        assert.isFalse(yield* store.swap("a", 0, "late"))
      })
    )

    test(
      "One of many concurrent swaps wins each version",
      Effect.gen(function* () {
        const store = yield* TokenStore
        for (let version = 0; version < 5; version++) {
          const won = yield* Effect.all(
            Array.from({ length: 10 }, (_, index) => store.swap("a", version, `${version}.${index}`)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(won.filter(Boolean).length, 1)
          assert.strictEqual((yield* store.read("a")).text, `${version}.${won.indexOf(true)}`)
        }
      })
    )

    test(
      "Concurrent increments from many fibers are all counted",
      Effect.gen(function* () {
        const store = yield* TokenStore
        const increment: Effect.Effect<void, unknown> = Effect.gen(function* () {
          const { text, version } = yield* store.read("n")
          if (!(yield* store.swap("n", version, String(Number(text ?? 0) + 1)))) yield* increment
        })
        yield* Effect.all(
          Array.from({ length: 20 }, () => increment),
          { concurrency: "unbounded" }
        )
        assert.strictEqual((yield* store.read("n")).text, "20")
      })
    )

    test(
      "A store keeps any text unchanged",
      Effect.gen(function* () {
        const store = yield* TokenStore
        const text = JSON.stringify({ a: "é\u0000\n💥", b: "x".repeat(10_000) })
        yield* store.swap("key with spaces / and: signs", 0, text)
        assert.strictEqual((yield* store.read("key with spaces / and: signs")).text, text)
      })
    )
  })

describe("File-based TokenStore", () => {
  const directory = Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const parent = yield* fs.makeTempDirectoryScoped()
    return { fs, parent, directory: `${parent}/deep/tokens` }
  })
  const open = (path: string) =>
    Effect.provide(TokenStore, Layer.fresh(TokenFiles.layer({ directory: path })), { local: true })

  it.effect(
    "A token directory and its files are accessible only to their owner",
    () =>
      Effect.gen(function* () {
        const { directory: path, fs } = yield* directory
        yield* fs.makeDirectory(path, { recursive: true, mode: 0o777 })
        yield* fs.chmod(path, 0o777)
        const store = yield* open(path)
        yield* store.swap("a", 0, "secret")
        assert.strictEqual((yield* fs.stat(path)).mode & 0o777, 0o700)
        for (const name of yield* fs.readDirectory(path))
          assert.strictEqual((yield* fs.stat(`${path}/${name}`)).mode & 0o777, 0o600)
      }).pipe(Effect.provide(NodeServices.layer)),
    verifies("authorization.client.tokens-stored", "authorization.client.refresh-confidential")
  )

  it.effect("Each key has its own file, whose name does not reveal the key", () =>
    Effect.gen(function* () {
      const { directory: path, fs } = yield* directory
      const store = yield* open(path)
      for (let version = 0; version < 5; version++) yield* store.swap("https://issuer.example", version, "x")
      const names = yield* fs.readDirectory(path)
      assert.strictEqual(names.length, 1)
      assert.match(names[0] ?? "", /^[0-9a-f]{32}\.5$/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("Reading does not create the directory", () =>
    Effect.gen(function* () {
      const { directory: path, fs } = yield* directory
      const store = yield* open(path)
      assert.deepStrictEqual(yield* store.read("a"), { version: 0, text: undefined })
      assert.isFalse(yield* fs.exists(path))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("Two stores in one directory share their entries", () =>
    Effect.gen(function* () {
      const { directory: path } = yield* directory
      const [one, two] = [yield* open(path), yield* open(path)]
      yield* one.swap("a", 0, "one")
      assert.deepStrictEqual(yield* two.read("a"), { version: 1, text: "one" })
      assert.isFalse(yield* two.swap("a", 0, "two"))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("A late write with a long outdated version changes nothing", () =>
    Effect.gen(function* () {
      const { directory: path, fs } = yield* directory
      const store = yield* open(path)
      for (let version = 0; version < 4; version++) yield* store.swap("a", version, `v${version + 1}`)
      // The files of versions 1 to 3 are gone, so their numbers could be linked again.
      assert.isFalse(yield* store.swap("a", 1, "late"))
      assert.deepStrictEqual(yield* store.read("a"), { version: 4, text: "v4" })
      assert.strictEqual((yield* fs.readDirectory(path)).length, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A killed process's partial file is removed, but a file being written is kept", () =>
    Effect.gen(function* () {
      const { directory: path, fs } = yield* directory
      yield* fs.makeDirectory(path, { recursive: true })
      const old = `${path}/0.old.new`
      yield* fs.writeFileString(old, "secret")
      yield* fs.utimes(old, 1, 1)
      yield* fs.writeFileString(`${path}/0.young.new`, "secret")
      const store = yield* open(path)
      yield* store.swap("a", 0, "one")
      const left = (yield* fs.readDirectory(path)).filter((name) => name.endsWith(".new"))
      assert.deepStrictEqual(left, ["0.young.new"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("A directory that cannot be created fails with an error that names it", () =>
    Effect.gen(function* () {
      const { directory: path, fs, parent } = yield* directory
      yield* fs.writeFileString(`${parent}/deep`, "a file")
      const store = yield* open(path)
      const error = yield* Effect.flip(store.swap("a", 0, "text"))
      assert.strictEqual(error.step, "storage")
      assert.include(error.message, path)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("Encrypted TokenStore", () => {
  const over = (store: TokenStore["Service"], secret = key) =>
    Effect.provide(TokenStore, Layer.fresh(Layer.provide(layerEncrypted(secret), Layer.succeed(TokenStore, store))), {
      local: true
    })

  it.effect("An encrypted store hides the text and its repetitions from the underlying store", () =>
    Effect.gen(function* () {
      const below = makeMemory()
      const store = yield* over(below)
      yield* store.swap("a", 0, "very secret")
      const first = (yield* below.read("a")).text ?? ""
      yield* store.swap("a", 1, "very secret")
      const second = (yield* below.read("a")).text ?? ""
      assert.notStrictEqual(first, second)
      assert.notMatch(Buffer.from(second, "base64url").toString("latin1"), /secret/)
    })
  )

  it.effect("An encrypted store rejects text that was changed, moved or sealed with another secret", () =>
    Effect.gen(function* () {
      const below = makeMemory()
      const store = yield* over(below)
      yield* store.swap("a", 0, "text")
      const sealed = (yield* below.read("a")).text ?? ""
      yield* below.swap("b", 0, sealed)
      const flipped = Buffer.from(sealed, "base64url")
      flipped[flipped.length - 1]! ^= 1
      yield* below.swap("c", 0, flipped.toString("base64url"))
      yield* below.swap("d", 0, "")
      for (const name of ["b", "c", "d"]) {
        const error = yield* Effect.flip(store.read(name))
        assert.match(error.message, /cannot decrypt/)
      }
      const other = yield* over(below, Redacted.make(new Uint8Array(32).fill(8)))
      assert.match((yield* Effect.flip(other.read("a"))).message, /cannot decrypt/)
    })
  )

  it.effect("An encrypted store rejects a key with the wrong length", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(over(makeMemory(), Redacted.make(new Uint8Array(16))))
      assert.match(error.message, /32 bytes/)
    })
  )
})

describe("Store entries", () => {
  it.effect("Tokens stored by an earlier release are found without a new login", () =>
    Effect.gen(function* () {
      const world = World.make()
      const store = makeMemory()
      yield* store.swap(
        JSON.stringify(["place", World.server]),
        0,
        JSON.stringify({ issuer: World.issuer, resource: World.server })
      )
      yield* store.swap(
        JSON.stringify(["account", World.issuer, World.server]),
        0,
        JSON.stringify({ tokens: { accessToken: "at-0", tokenType: "Bearer", requested: [] } })
      )
      const client = yield* World.client(world, {}, store)
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.visits.length, 0)
      assert.deepStrictEqual(
        world.hits.map(({ headers }) => headers["authorization"]),
        ["Bearer at-0"]
      )
    })
  )
})
