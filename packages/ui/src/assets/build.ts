/** Bundles the page's program, with the libraries it uses, into one file. Needs the development dependencies of this package. */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** The licenses of the bundled libraries, as a comment. */
const licences = (modules: ReadonlyArray<string>): string => {
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
  const texts = [...folders].toSorted().map((folder) => {
    const { license, name, version }: { readonly [key: string]: string } = JSON.parse(
      readFileSync(`${folder}/package.json`, "utf8")
    )
    const [file] = globSync("licen[cs]e*", { cwd: folder }).concat(globSync("LICEN[CS]E*", { cwd: folder }))
    const text = file === undefined ? "" : `\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`
    return `${name} ${version}, ${license}\n${text}`
  })
  return `/*!\nThis program contains code of the following packages.\n\n${texts.join("\n---\n\n").replaceAll("*/", "* /")}*/\n`
}

/** Returns the program as text. */
export const build = async (): Promise<string> => {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("../page/main.tsx", import.meta.url)),
    platform: "browser",
    logLevel: "warn"
  })
  const { output } = await bundle.generate({ format: "esm", minify: true, comments: false, codeSplitting: false })
  await bundle.close()
  const [{ code, modules }] = output
  return `${licences(Object.keys(modules))}${code}`
}

// The last step of a build replaces the compiler's module with the bundle.
if (import.meta.main) writeFileSync(new URL("../../dist/page/main.js", import.meta.url), await build())
