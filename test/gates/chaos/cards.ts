/** The sandbox provider's test cards, as its documentation lists them. */
export const CARD = {
  pays: '4084 0840 8408 4081',
  insufficientFunds: '4000 0000 0000 9995',
  declined: '4000 0000 0000 0002',
  expired: '4000 0000 0000 0069',
  asksForCode: '5060 6666 6666 6666 666',
  staysSilent: '4000 0000 0000 0119',
}
