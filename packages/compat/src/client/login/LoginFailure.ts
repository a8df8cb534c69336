/** A request failed because its login failed. The error travels with the request, since other requests run at the same time. */
export class LoginFailure extends Error {
  override readonly name = "LoginFailure"
  /** The error that the program receives. */
  readonly error: unknown
  /** The rejected response, without its body. Has status 401 if the request was not sent. */
  readonly response: Response

  constructor(error: unknown, refusal?: Response) {
    super(error instanceof Error ? error.message : "The login failed")
    this.error = error
    this.response = new Response(null, { status: refusal?.status ?? 401, headers: refusal?.headers ?? {} })
  }
}

/** Returns the login failure among the causes of an error, or `undefined` if there is none. */
export const loginFailureOf = (error: unknown): LoginFailure | undefined => {
  // Bounded, because a chain of causes may be circular.
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    if (current instanceof LoginFailure) return current
    current = "cause" in current ? current.cause : undefined
  }
  return undefined
}
