/** Passkeys, app, recovery codes and password of the member. */
export const FACTORS = '/account/second-factors'
