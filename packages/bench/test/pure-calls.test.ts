import { assert, describe, it } from "@effect/vitest"
import { rolldown } from "rolldown"
import { pureCalls } from "../src/PureCalls.ts"

const sources = {
  "main.ts": `import { used } from "./all.ts"; console.log(used)`,
  "all.ts": `
    import { make, install } from "outside"
    export const used: number = make("used")
    export const unused = make("unused").pipe(make("argument"))
    export class Unused extends make("class")("name")<number> {}
    export const later = () => make("later")
    install("wanted")
  `
}

const bundle = async (annotated: boolean): Promise<string> => {
  const made = await rolldown({
    input: "main.ts",
    external: ["outside"],
    experimental: { nativeMagicString: true },
    plugins: [
      {
        name: "sources",
        resolveId: (id) => (/[.]ts$/.test(id) ? id.replace("./", "") : null),
        load: (id) => sources[id as keyof typeof sources]
      },
      ...(annotated ? [pureCalls] : [])
    ]
  })
  const { output } = await made.generate({ format: "esm" })
  return output[0].code
}

const kept = (code: string) =>
  ["used", "unused", "argument", "class", "later", "wanted"].filter((name) => code.includes(`"${name}"`))

describe("Modules with annotated calls", () => {
  it("Unused values of annotated calls are dropped, and call statements are kept", async () => {
    assert.deepStrictEqual(kept(await bundle(false)), ["used", "unused", "argument", "class", "wanted"])
    assert.deepStrictEqual(kept(await bundle(true)), ["used", "wanted"])
  })
})
