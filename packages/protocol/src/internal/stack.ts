/** Creates errors without stack traces, which are by far the most expensive part of an error that is sent as a response. */

const errors: ErrorConstructor & { stackTraceLimit?: number } = Error
/** False if the globals are frozen, and outside V8, where the property doesn't exist. */
const isWritable = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit")?.writable === true

/** Runs a function. Errors it creates have no stack trace. */
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
