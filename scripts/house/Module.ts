/** Parses a source file into the parts that the house rules check, and defines their findings. */
import { dirname, join } from "node:path"
import { parseSync, Visitor } from "oxc-parser"
import type { Argument, Expression, Program } from "oxc-parser"

export type Rule =
  | "rooms"
  | "modules"
  | "mirror"
  | "exports"
  | "docstrings"
  | "homonyms"
  | "lengths"
  | "grammar"
  | "turns"
  | "time"
  | "methods"
  | "assigned"

/** A rule that is broken: the file from the root of the workspace, the line, and what to do. */
export interface Finding {
  readonly rule: Rule
  readonly file: string
  readonly line: number
  readonly text: string
}

/** The parts of a source file that the rules check. */
export interface Module {
  readonly file: string
  readonly text: string
  /** The modules of the same package that it imports, types included. */
  readonly imports: ReadonlyArray<string>
  readonly comments: ReadonlyArray<{ readonly value: string; readonly start: number }>
  readonly exported: ReadonlyArray<{ readonly name: string; readonly start: number }>
  /** The types and values with a capital letter that it declares and exports. */
  readonly declared: ReadonlyArray<{ readonly name: string; readonly start: number }>
  /** Titles of tests and of groups of tests. */
  readonly titles: ReadonlyArray<Title>
  /** The values that are declared and exported without a docstring. */
  readonly undocumented: ReadonlyArray<{ readonly name: string; readonly start: number }>
  /** The arrays that hold two or more names of methods. */
  readonly methodLists: ReadonlyArray<{ readonly value: string; readonly start: number }>
  /** The functions that are written in an assignment to a property. */
  readonly assigned: ReadonlyArray<{ readonly start: number }>
}

/** Names such as `tools/call`. */
const methodName =
  /^(?:completion|elicitation|logging|notifications|prompts|resources|roots|sampling|server|subscriptions|tools)\/[a-z]/

export interface Title {
  readonly value: string
  readonly start: number
  readonly isGroup: boolean
}

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** `it` of `it.effect.each(rows)`. */
const rootName = (callee: Expression): string => {
  if (callee.type === "Identifier") return callee.name
  if (callee.type === "MemberExpression") return rootName(callee.object)
  return callee.type === "CallExpression" ? rootName(callee.callee) : ""
}

const textOf = (title: Argument | undefined): string | undefined => {
  if (title?.type === "Literal" && typeof title.value === "string") return title.value
  return title?.type === "TemplateLiteral" ? title.quasis.map(({ value }) => value.raw).join(" ") : undefined
}

type Declaration = Extract<Program["body"][number], { readonly type: "ExportNamedDeclaration" }>["declaration"]

const namesOf = (declaration: Declaration): ReadonlyArray<string> => {
  if (declaration === null) return []
  if (declaration.type === "VariableDeclaration")
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []))
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : []
}

const declaredOf = ({ body }: Program): Module["declared"] => {
  const found = new Map<string, number>()
  for (const node of body) {
    if (node.type !== "ExportNamedDeclaration") continue
    for (const name of namesOf(node.declaration)) {
      if (/^[A-Z]/.test(name) && !found.has(name)) found.set(name, node.start)
    }
  }
  return Array.from(found, ([name, start]) => ({ name, start }))
}

/** Returns the exported values without a docstring. The docstring of one overload counts for all of them. */
const undocumentedOf = ({ comments, program }: ReturnType<typeof parseSync>, text: string): Module["undocumented"] => {
  const found = new Map<string, number>()
  const documented = new Set<string>()
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.declaration === null) continue
    const { declaration, start } = node
    const names =
      declaration.type === "VariableDeclaration"
        ? declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []))
        : declaration.type === "FunctionDeclaration" ||
            declaration.type === "TSDeclareFunction" ||
            declaration.type === "ClassDeclaration"
          ? [declaration.id?.name ?? "default"]
          : []
    const hasDocs = comments.some(
      ({ end, type, value }) =>
        type === "Block" && value.startsWith("*") && end <= start && /^\s*(?:\/\/.*\s*)*$/.test(text.slice(end, start))
    )
    for (const name of names) {
      if (hasDocs) documented.add(name)
      else if (!found.has(name)) found.set(name, start)
    }
  }
  return [...found].flatMap(([name, start]) => (documented.has(name) ? [] : [{ name, start }]))
}

/** A module from its text; `file` is its path from the root of the workspace. */
export const parse = (file: string, text: string): Module => {
  const parsed = parseSync(file, text)
  const { comments, module, program } = parsed
  const titles: Array<Title> = []
  const methodLists: Array<{ readonly value: string; readonly start: number }> = []
  const assigned: Array<{ readonly start: number }> = []
  new Visitor({
    AssignmentExpression: ({ left, right, start }) => {
      const isFunction = right.type === "ArrowFunctionExpression" || right.type === "FunctionExpression"
      if (isFunction && left.type === "MemberExpression") assigned.push({ start })
    },
    ArrayExpression: ({ elements, start }) => {
      const methods = elements.flatMap((element) =>
        element?.type === "Literal" && typeof element.value === "string" && methodName.test(element.value)
          ? [element.value]
          : []
      )
      if (methods.length > 1) methodLists.push({ value: methods.join(", "), start })
    },
    CallExpression: ({ arguments: [title], callee, start }) => {
      const value = textOf(title)
      const name = rootName(callee)
      if (value === undefined || !["it", "test", "describe"].includes(name)) return
      titles.push({ value, start, isGroup: name === "describe" })
    }
  }).visit(program)
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1))
  ]
  const local = specifiers.filter((name) => name.startsWith(".") && name.endsWith(".ts"))
  const exported = module.staticExports.flatMap(({ entries, start }) =>
    entries.flatMap(({ exportName }) =>
      exportName.name === null ? [] : [{ name: exportName.name, start: exportName.start ?? start }]
    )
  )
  return {
    file,
    text,
    titles,
    undocumented: undocumentedOf(parsed, text),
    methodLists,
    assigned,
    comments,
    exported,
    declared: declaredOf(program),
    imports: local.map((name) => join(dirname(file), name))
  }
}
