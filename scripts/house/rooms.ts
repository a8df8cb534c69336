/** Rooms and modules of one package: which import each other, which lie loose, and where their tests lie. */
import { basename, dirname, relative } from "node:path"
import type { Finding, Module } from "./Module.ts"

/** Returns the room of a module: its folder, or the module itself if it is directly in the package's root. */
const roomOf = (file: string): string => (dirname(file).endsWith("/src") ? file : dirname(file))

type Arrows = ReadonlyMap<string, ReadonlySet<string>>

const reachable = (arrows: Arrows, start: string): ReadonlySet<string> => {
  const seen = new Set<string>()
  const open = [start]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const next of arrows.get(node) ?? []) {
      if (seen.has(next)) continue
      seen.add(next)
      open.push(next)
    }
  }
  return seen
}

/** The groups of two or more nodes that reach each other. */
const circles = (arrows: Arrows): ReadonlyArray<ReadonlyArray<string>> => {
  const reach = new Map([...arrows.keys()].map((node) => [node, reachable(arrows, node)]))
  const together = (a: string, b: string) => reach.get(a)?.has(b) === true && reach.get(b)?.has(a) === true
  const groups = [...arrows.keys()].map((node) => [...arrows.keys()].filter((other) => together(node, other)))
  return groups.filter(
    (group, index) => group.length > 0 && groups.findIndex(([first]) => first === group[0]) === index
  )
}

const arrowsOf = (modules: ReadonlyArray<Module>, nodeOf: (file: string) => string): Arrows => {
  const arrows = new Map<string, Set<string>>()
  for (const { file, imports } of modules) {
    const from = nodeOf(file)
    const to = arrows.get(from) ?? new Set()
    arrows.set(from, to)
    for (const target of imports) if (nodeOf(target) !== from) to.add(nodeOf(target))
  }
  return arrows
}

/** Rooms and modules that import each other, in the sources of one package. */
export const oneWay = (modules: ReadonlyArray<Module>): ReadonlyArray<Finding> => {
  const found = (rule: "rooms" | "modules", nodeOf: (file: string) => string) =>
    circles(arrowsOf(modules, nodeOf)).map((circle) => ({
      rule,
      file: circle[0] ?? "",
      line: 1,
      text: `These import each other; imports run one way: ${circle.map((name) => relative("packages", name)).join(", ")}`
    }))
  return [...found("rooms", roomOf), ...found("modules", (file) => file)]
}

/** A test that is named after a module lies in its room, also below `process/`. Tests of time and memory lie in `perf/`. */
export const mirrored = (
  sources: ReadonlyArray<Module>,
  tests: ReadonlyArray<Pick<Module, "file">>
): ReadonlyArray<Finding> =>
  tests.flatMap(({ file }) => {
    const [, root = "", folder = "", name = ""] =
      /^(packages\/[^/]+\/)test\/(?:process\/)?(.*?)([A-Z]\w*)\.[\w.]*test\.ts$/.exec(file) ?? []
    const rooms = sources.map((source) => source.file).filter((source) => basename(source) === `${name}.ts`)
    if (rooms.length === 0 || folder === "perf/" || rooms.includes(`${root}src/${folder}${name}.ts`)) return []
    return [
      {
        rule: "mirror",
        file,
        line: 1,
        text: `The test of ${rooms.join(" or ")} lies in another room; move or rename it`
      }
    ]
  })
