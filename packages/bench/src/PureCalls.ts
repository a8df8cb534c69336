/**
 * Marks calls that only create a value of their module as free of side effects, such as `const a = make()` or `class A extends
 * Service()("a") {}`. A bundler can then remove unused code, even though one file contains many modules.
 *
 * A call that is made for its side effect is a separate statement.
 */
import type { Plugin } from "rolldown"
import { parseSync, Visitor } from "rolldown/utils"

const pure = "/* @__PURE__ */ "

/** Returns the positions in a source that need an annotation. */
const places = (file: string, code: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  // Nesting depth of functions: calls inside a function run later.
  let inside = 0
  // Depth of statements that are calls themselves.
  let wanted = 0
  const enter = () => void inside++
  const leave = () => void inside--
  const call = ({ start }: { readonly start: number }): void => {
    if (inside === 0 && wanted === 0) found.add(start)
  }
  const visitor = new Visitor({
    ArrowFunctionExpression: enter,
    "ArrowFunctionExpression:exit": leave,
    FunctionDeclaration: enter,
    "FunctionDeclaration:exit": leave,
    FunctionExpression: enter,
    "FunctionExpression:exit": leave,
    ExpressionStatement: () => void wanted++,
    "ExpressionStatement:exit": () => void wanted--,
    CallExpression: call,
    NewExpression: call
  })
  visitor.visit(parseSync(file, code).program)
  return [...found]
}

/** The plugin. Needs the option `experimental.nativeMagicString`. */
export const pureCalls: Plugin = {
  name: "pure calls",
  transform: {
    filter: { id: /\.ts$/ },
    handler: (code, id, { magicString }) => {
      if (magicString === undefined) throw new Error("The option experimental.nativeMagicString is off: switch it on")
      for (const at of places(id, code)) magicString.prependRight(at, pure)
      return { code: magicString }
    }
  }
}
