/** Errors without their stacks, which cost more than all the rest of an error that is an answer. */

const errors: ErrorConstructor & { stackTraceLimit?: number } = Error
/** Not writable where the globals are frozen; absent outside of V8. */
const isWritable = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit")?.writable === true

/** Runs a function whose errors record no stacks. */
export const withoutStack = <A>(run: () => A): A => {
  const limit = errors.stackTraceLimit
  if (!isWritable || limit === undefined) return run()
  errors.stackTraceLimit = 0
  try {
    return run()
  } finally {
    errors.stackTraceLimit = limit
  }
}
