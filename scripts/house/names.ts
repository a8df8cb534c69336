/** Names of exports that mean several things. */
import { type Finding, lineOf, type Module } from "./Module.ts"

/** Packages with the words of other libraries for the types of the specification: plain objects, and the official SDK. */
const faces = ["packages/promise/", "packages/compat/"]

/** Names that several modules may declare, and why. */
export const homonyms: Readonly<Record<string, string>> = {
  Options: "Effect's word for the options of a module: `RateLimit.Options`",
  Requirements: "the services that a connector or a list of servers needs, as in Effect: `Stdio.Requirements`",
  Service: "what a tag stands for, as in Effect",
  Middleware:
    "code around requests, of a server (`Middleware.Middleware`) and of a client (`ClientMiddleware.Middleware`)",
  Request: "a message on the wire (`JsonRpc.Request`), and the contract of one (`Extension.Request`)",
  Notification: "a message on the wire (`JsonRpc.Notification`), and the contract of one (`Extension.Notification`)",
  Tool: "the contract of a tool (core), and what lists say of it (protocol)",
  Prompt: "the contract of a prompt (core), and what lists say of it (protocol)",
  ResourceNotFound: "an error code (`McpError`), and the failure that becomes it",
  Unauthorized: "an error code (`McpError`), and the error that a client reads from it",
  Forbidden: "an error code (`McpError`), and the error that a client reads from it",
  JsonObject: "one type, to which `model/Shape` adds a schema",
  CoreTasks: "tasks of 2025-11-25, as the server offers them and as a client reads them",
  DetailedTask: "the specification's type, as a server writes it and as a client reads it"
}

/** Names that several modules declare, over all packages: a name has one meaning. */
export const meanings = (
  modules: ReadonlyArray<Module>,
  allowed: Readonly<Record<string, string>>
): ReadonlyArray<Finding> => {
  const places = new Map<string, ReadonlyArray<readonly [module: Module, start: number]>>()
  for (const module of modules.filter(({ file }) => !faces.some((face) => file.startsWith(face)))) {
    for (const { name, start } of module.declared) places.set(name, [...(places.get(name) ?? []), [module, start]])
  }
  const repeated = [...places].filter(([, [, ...others]]) => others.length > 0)
  const names = new Set(repeated.map(([name]) => name))
  return [
    ...repeated.flatMap(([name, [first, ...others]]) =>
      name in allowed
        ? []
        : others.map(([{ file, text }, start]) => ({
            rule: "homonyms" as const,
            file,
            line: lineOf(text, start),
            text: `"${name}" is declared in ${first?.[0].file ?? ""}, too; a name has one meaning: say the difference in it, or export it not`
          }))
    ),
    ...Object.keys(allowed).flatMap((name) =>
      names.has(name)
        ? []
        : [
            {
              rule: "homonyms" as const,
              file: "scripts/house/names.ts",
              line: 1,
              text: `"${name}" has one declaration at most; take it off the list of homonyms`
            }
          ]
    )
  ]
}
