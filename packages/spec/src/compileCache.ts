/** Environment for processes that do not inherit one. It names Node's compile cache, which halves their start time. */

const directory = process.env["NODE_COMPILE_CACHE"]

/** Environment variables for a child process that a stdio client starts. Empty outside of a test run. */
export const compileCache: { readonly [name: string]: string } =
  directory === undefined ? {} : { NODE_COMPILE_CACHE: directory }
