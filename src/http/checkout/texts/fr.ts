import type { Texts } from './texts.ts'

const DECLINED = 'Votre banque a refusé ce paiement sans dire pourquoi.'
const NOT_ALLOWED =
  'Votre banque n’autorise pas ce paiement avec cette carte. Relevez le plafond ou autorisez les paiements en ligne dans l’application de votre banque, ou payez autrement.'
const WRONG_CODE = 'Le code ne correspond pas.'
const NOT_TOLD_WHY = 'Le paiement a été refusé sans que la raison nous soit donnée.'

export const fr: Texts = {
  locale: 'fr',
  direction: 'ltr',

  title: (amount, merchant) => `${amount} à ${merchant}`,
  reference: 'Référence',
  testMode: 'Mode test : aucun argent réel ne circule',
  securedBy: 'Sécurisé par',
  help: (merchant) => `Une question sur cette commande ? Demandez à ${merchant} en donnant la référence ci-dessus.`,
  copy: 'Copier',
  copyOf: (what) => `Copier : ${what.toLowerCase()}`,
  copied: 'Copié',
  offline: 'Vous êtes hors ligne. Nous continuerons dès le retour de la connexion.',
  backOnline: 'Vous êtes de nouveau en ligne.',

  payWith: 'Payer par',
  method: {
    card: 'Carte',
    'virtual-bank-account': 'Virement bancaire',
    'mobile-money': 'Mobile money',
    ussd: 'USSD',
    bank: 'Payer avec ma banque',
    qr: 'Code QR',
  },
  newCard: 'Nouvelle carte',
  savedCard: (brand, last4) => `${brand} se terminant par ${last4}`,
  cardNote: 'Vous saisissez votre carte chez le prestataire de paiement. La boutique ne la voit jamais.',
  saveCard: 'Garder cette carte pour la prochaine fois',
  bankTransferNote:
    'Vous recevez un numéro de compte réservé à ce paiement et faites le virement depuis l’application de votre banque.',
  mobileNote: 'Vous recevez une demande sur votre téléphone et la validez avec votre code PIN.',
  ussdNote: 'Vous recevez un code à composer sur votre téléphone. Internet n’est pas nécessaire.',
  bankNote: 'Vous validez le paiement auprès de votre banque, puis revenez ici.',
  qrNote: 'Vous scannez un code avec l’application de votre banque.',
  mobileNumber: 'Numéro mobile money',
  network: 'Réseau',
  closed: 'indisponible pour le moment',
  codeBeforehand: (networks) => `Code obtenu sur votre téléphone (${networks})`,
  wrongPhoneNumber: (prefix, zero) =>
    `Ce n’est pas un numéro mobile de ce pays. Il commence par ${prefix}${zero ? ' ou par 0' : ''}.`,
  tooManyRequests: 'Ce numéro a reçu trop de demandes. Attendez quelques minutes, ou prenez un autre numéro.',
  chooseNetwork: 'Choisissez le réseau de ce numéro.',
  looksLike: (network) => `Ce numéro semble être chez ${network}. Choisissez son réseau.`,
  chooseBank: 'Choisissez votre banque',
  amount: 'Montant',
  charge: 'Frais',
  total: 'Vous payez',
  pay: (amount) => `Payer ${amount}`,
  showAccount: 'Obtenir le numéro de compte',
  showCode: 'Obtenir le code à composer',
  showQr: 'Afficher le code QR',
  continueOnPhone: 'Continuer sur votre téléphone',
  continueOnPhoneNote: 'Visez ce code avec l’appareil photo du téléphone. Cette page suivra.',

  processing: 'Votre paiement est en cours',
  processingNote: 'Gardez cette page ouverte.',
  processingLong: 'Cela prend plus de temps que d’habitude. Vous ne serez pas débité deux fois.',

  provider: 'Saisissez votre carte',
  providerNote: 'Continuez sur la page sécurisée de votre banque.',
  providerFramedNote: 'Saisissez votre carte dans le formulaire du prestataire de paiement.',
  providerOtherNote: 'Vous validez le paiement sur une page sécurisée, puis revenez ici.',
  providerOpen: 'Continuer vers la page sécurisée',
  useAnotherMethod: 'Payer autrement',
  useAnotherNumber: 'Utiliser un autre numéro',

  transferExactly: (amount) => `Virez exactement ${amount}`,
  bankName: 'Banque',
  accountNumber: 'Numéro de compte',
  accountName: 'Titulaire du compte',
  forThisPaymentOnly: 'Pour ce paiement uniquement.',
  expiresIn: 'Expire dans',
  minutesLeft: (minutes) => (minutes === 1 ? 'Il reste une minute.' : `Il reste ${minutes} minutes.`),
  sentIt: 'J’ai envoyé l’argent',
  newAccount: 'Obtenir un nouveau numéro de compte',
  detailsShown: 'Coordonnées du virement affichées.',
  narration: 'Libellé',
  narrationNote: 'Indiquez ce libellé dans le virement, pour que votre argent soit retrouvé.',
  dialTransfer: 'Composer plutôt un code sur le téléphone',
  dialTransferNote:
    'Composez le code de votre banque. Elle demande où est le compte, et montre le nom avant votre code PIN.',
  dialTransferTest: 'Voici les codes que voient vos clients. Ne les composez pas : c’est un compte de test.',

  prompt: 'Validez sur votre téléphone',
  promptSent: (amount, number) =>
    number
      ? `Nous avons envoyé une demande de ${amount} au ${number}.`
      : `Nous avons envoyé une demande de ${amount} sur votre téléphone.`,
  promptFrom: (network) => `Elle vient de ${network}.`,
  promptShows: (name) => `Elle indique ${name}.`,
  promptApprove: 'Saisissez-y votre code PIN pour valider.',
  noPrompt: 'Je n’ai pas reçu de demande',
  noPromptPhone: 'Vérifiez que le téléphone est allumé, déverrouillé et qu’il capte.',
  noPromptNumber: (number) => `Vérifiez le numéro : ${number}.`,
  noPromptMenu: (network, code) => `Chez ${network}, composez le ${code} et regardez les demandes en attente.`,
  waiting: 'Nous vérifions encore',
  waitingNote: (merchant) =>
    `Le délai de validation est passé. Si vous avez validé, attendez ici ou fermez cette page : ${merchant} sera informé. Ne payez de nouveau que si vous n’avez pas validé, sinon vous pourriez payer deux fois.`,
  unsureNote: (amount) =>
    `Sans réponse, nous ne savons pas si votre téléphone demande le paiement. S’il demande ${amount}, validez avec votre code PIN. Sinon, réessayez une fois ce délai passé.`,
  earlierPrompt: (number) =>
    `Une demande précédente${number ? ` au ${number}` : ''} peut encore être validée. Ne payez de nouveau que si vous ne l’avez pas validée et ne le ferez pas, sinon vous pourriez payer deux fois.`,
  earlierOther:
    'Si vous avez déjà payé avec les indications affichées, ne payez pas de nouveau : attendez la confirmation.',
  enterCode: 'Saisissez le code',
  code: 'Code',
  sendCode: 'Continuer',
  codeRefused: 'Ce code n’est pas le bon. Vérifiez-le et saisissez-le de nouveau.',
  payTo: (amount) => `Payez ${amount} sur votre téléphone`,
  payToNote: 'Ouvrez le menu mobile money, choisissez de payer une facture et saisissez ceci.',
  payToNumber: 'Numéro du commerçant',
  dial: 'Composez ce code sur votre téléphone',
  dialNote: (bank) => `Composez-le avec le numéro que ${bank ?? 'votre banque'} connaît, et suivez les étapes.`,
  scan: 'Scannez pour payer',
  scanNote: 'Ouvrez l’application de votre banque et scannez ce code.',

  checking: 'Nous cherchons votre virement',
  checkingNote: 'Cette page change d’elle-même dès que l’argent est là.',
  checkingLong: (merchant) =>
    `Un virement peut prendre plus de temps. Vous pouvez fermer cette page ; nous préviendrons ${merchant} à l’arrivée de l’argent.`,
  steps: ['Envoyé', 'Reçu', 'Confirmé'],
  showDetails: 'Afficher les coordonnées',
  checkNow: 'Vérifier maintenant',

  partial: (received, asked) => `Nous avons reçu ${received} sur ${asked}.`,
  sendTheRest: (rest) => `Envoyez encore ${rest} sur le même compte.`,

  failed: 'Le paiement n’a pas abouti',
  reason: {
    insufficient_funds: 'Le solde de la carte ne suffit pas pour ce paiement.',
    card_declined: DECLINED,
    card_expired: 'Cette carte a expiré.',
    card_not_supported: NOT_ALLOWED,
    incorrect_pin: WRONG_CODE,
    incorrect_otp: WRONG_CODE,
    authentication_failed: 'Votre banque n’a pas pu confirmer que c’était vous.',
    limit_exceeded: NOT_ALLOWED,
    suspected_fraud: DECLINED,
    invalid_token: 'Cette carte enregistrée ne peut plus être utilisée.',
    reversed: 'Le paiement a été annulé ; votre argent vous est rendu.',
    amount_mismatch: 'Le montant ne correspondait pas. La boutique en a été informée et vous contactera.',
    prompt_expired: 'La demande sur votre téléphone n’a pas été approuvée à temps.',
    subscriber_unknown: 'Ce numéro de téléphone n’a pas de compte mobile money.',
    transfer_expired: 'Le numéro de compte a expiré avant l’arrivée de l’argent.',
    customer_cancelled: 'La demande a été refusée sur le téléphone. Réessayez, et validez-la avec votre code PIN.',
    provider_unavailable: 'La banque n’a pas répondu. Attendez une minute et réessayez.',
    provider_error: 'Le paiement n’a pas pu être effectué.',
    other: DECLINED,
  },
  reasonOnPhone: {
    insufficient_funds: 'Le solde du compte ne suffit pas. Rechargez-le et réessayez, ou payez autrement.',
    card_declined: NOT_TOLD_WHY,
    incorrect_pin:
      'Le code PIN n’est pas le bon. Réessayez, et saisissez le code PIN de votre compte sur le téléphone.',
    incorrect_otp: 'Le code n’est pas le bon. Réessayez avec un nouveau code.',
    authentication_failed:
      'Votre identité n’a pas pu être confirmée. Réessayez, et suivez les étapes sur le téléphone.',
    limit_exceeded:
      'Le montant dépasse le plafond du compte. Faites-le relever par votre réseau ou votre banque, ou payez autrement.',
    suspected_fraud: NOT_TOLD_WHY,
    prompt_expired:
      'La demande n’a pas été validée à temps. Gardez le téléphone en main et déverrouillé, puis réessayez.',
    subscriber_unknown: 'Ce numéro n’a pas de compte mobile money. Vérifiez le numéro et le réseau.',
    provider_unavailable: 'Le réseau ou la banque n’a pas répondu. Attendez une minute et réessayez.',
    other: NOT_TOLD_WHY,
  },
  notCharged: 'Vous n’avez pas été débité.',
  tryAgain: 'Réessayer',
  useAnotherCard: 'Utiliser une autre carte',

  confirming: 'Nous confirmons votre paiement',
  confirmingNote: (merchant) =>
    `Ne payez pas encore une deuxième fois. Vous pouvez fermer cette page ; ${merchant} sera informé du résultat.`,

  succeeded: 'Paiement reçu',
  paidTo: (amount, merchant) => `Vous avez payé ${amount} à ${merchant}.`,
  spokenSuccess: (amount) => `Paiement de ${amount} reçu.`,
  returnTo: (merchant) => `Retourner chez ${merchant}`,
  returningIn: 'Retour dans',
  stay: 'Rester sur cette page',
  print: 'Imprimer ou enregistrer',
  close: 'Fermer',

  alreadyPaid: 'Ce paiement est déjà effectué',
  nothingMore: 'Il n’y a plus rien à payer.',
  paidOn: (date) => `Payé le ${date}`,
  refundedNote: (amount) => `${amount} vous ont été renvoyés.`,
  overpaidNote: (excess, merchant) => `Vous avez envoyé ${excess} de trop. Demandez à ${merchant} de vous les rendre.`,

  cancelled: 'Paiement annulé',
  cancelledOpen: (merchant) =>
    `Ne validez plus de demande sur votre téléphone. Si vous avez déjà payé, ${merchant} en sera informé.`,
  expired: 'Ce lien de paiement a expiré',
  expiredNote: (merchant) =>
    `Demandez-en un nouveau à ${merchant}. Si vous avez déjà envoyé de l’argent, il sera rapproché ou rendu.`,
  accountExpired: 'Ce numéro de compte a expiré',
  accountExpiredNote: 'N’envoyez pas d’argent à l’ancien numéro. Si vous l’avez déjà fait, il sera rapproché ou rendu.',
  unpayable: 'Ce paiement est impossible pour le moment',
  unpayableNote: (merchant) => `Vous n’avez pas été débité. Demandez à ${merchant} un autre moyen de payer.`,

  cancel: 'Annuler le paiement',
  cancelQuestion: 'Arrêter ce paiement ?',
  cancelNote: 'Si vous avez déjà envoyé de l’argent, nous le confirmerons quand même.',
  keepPaying: 'Continuer à payer',
  stop: 'Arrêter',
  closeQuestion: 'Le paiement peut encore aboutir',
  closeNote: 'Vous pourrez le rouvrir depuis la boutique. Il reprendra où il en est.',
  keepOpen: 'Rester ici',
  closeAnyway: 'Fermer',

  link: {
    email: 'Adresse e-mail',
    name: 'Votre nom',
    phoneNumber: 'Numéro de téléphone',
    continue: 'Continuer vers le paiement',
    checkFields: 'Certains champs sont à corriger.',
    missing: 'Remplissez ce champ.',
    wrongEmail: 'Saisissez une adresse e-mail, comme ada@example.com.',
    wrongText: 'Ce texte est trop long, ou contient des caractères que nous ne pouvons pas accepter.',
    wrongAmount: (example) => `Saisissez un montant, comme ${example}.`,
    between: (lowest, highest) => `De ${lowest} à ${highest}`,
    atLeast: (amount) => `Au moins ${amount}`,
    atMost: (amount) => `Au plus ${amount}`,
    inactive: 'Ce lien est désactivé',
    expired: 'Ce lien a expiré',
    used_up: 'Ce lien a déjà été entièrement utilisé',
    endedNote: (merchant) => `Vous n’avez pas été débité. Demandez-en un nouveau à ${merchant}.`,
  },

  notFound: 'Nous ne trouvons pas ce paiement',
  notFoundNote: 'Vérifiez le lien, ou demandez-en un nouveau à la boutique.',
  tooManyTries: 'Trop d’essais',
  tooManyTriesNote: 'Attendez une minute, puis rouvrez le lien.',
  tooManyAttempts: 'Trop d’essais pour ce paiement',
  tooManyAttemptsNote:
    'Les essais refusés n’ont rien coûté. Ne validez plus de demande sur votre téléphone. Demandez un nouveau lien à la boutique.',
  wentWrong: 'Un problème est survenu chez nous',
  wentWrongNote: 'Réessayez dans un instant. Rouvrez le lien avant de payer à nouveau.',
  cannotShow: 'Nous ne pouvons pas afficher ce paiement pour le moment',
  tryShortly: 'L’ouvrir ne vous a rien coûté. Réessayez dans un instant.',
}
