/** What JSON makes of a value: without members that are undefined. The caller says its type. */
export const plain = <A>(value: unknown): A => JSON.parse(JSON.stringify(value))
