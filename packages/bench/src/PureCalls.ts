/**
 * Says of each call that a module makes while it is loaded, for a value of its own, that the value alone is wanted: `const a = make()` or
 * `class A extends Service()("a") {}`. A bundler then leaves out what a program does not use, though one file holds many modules.
 *
 * A call whose effect is wanted is a statement of its own.
 */
import type { Plugin } from "rolldown"
import { parseSync, Visitor } from "rolldown/utils"

const pure = "/* @__PURE__ */ "

/** Where a source needs an annotation. */
const places = (file: string, code: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  // Depth of functions: what they call is called later.
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

/** It needs the option `experimental.nativeMagicString`. */
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
