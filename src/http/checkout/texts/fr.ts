import type { Texts } from './texts.ts'

const DECLINED = 'Votre banque a refusé ce paiement sans dire pourquoi.'
const NOT_ALLOWED =
  'Votre banque n’autorise pas ce paiement avec cette carte. Relevez le plafond ou autorisez les paiements en ligne dans l’application de votre banque, ou payez autrement.'
const WRONG_CODE = 'Le code ne correspond pas.'

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
  card: 'Carte',
  bank: 'Virement bancaire',
  newCard: 'Nouvelle carte',
  savedCard: (brand, last4) => `${brand} se terminant par ${last4}`,
  cardNote: 'Vous saisissez votre carte chez le prestataire de paiement. La boutique ne la voit jamais.',
  saveCard: 'Garder cette carte pour la prochaine fois',
  bankNote:
    'Vous recevez un numéro de compte réservé à ce paiement et faites le virement depuis l’application de votre banque.',
  amount: 'Montant',
  charge: 'Frais',
  total: 'Vous payez',
  pay: (amount) => `Payer ${amount}`,
  showAccount: 'Obtenir le numéro de compte',
  continueOnPhone: 'Continuer sur votre téléphone',
  continueOnPhoneNote: 'Visez ce code avec l’appareil photo du téléphone. Cette page suivra.',

  processing: 'Votre paiement est en cours',
  processingNote: 'Gardez cette page ouverte.',
  processingLong: 'Cela prend plus de temps que d’habitude. Vous ne serez pas débité deux fois.',

  provider: 'Saisissez votre carte',
  providerNote: 'Continuez sur la page sécurisée de votre banque.',
  providerFramedNote: 'Saisissez votre carte dans le formulaire du prestataire de paiement.',
  providerOpen: 'Continuer vers la page sécurisée',
  useAnotherMethod: 'Payer autrement',

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
    transfer_expired: 'Le numéro de compte a expiré avant l’arrivée de l’argent.',
    provider_unavailable: 'La banque n’a pas répondu. Attendez une minute et réessayez.',
    provider_error: 'Le paiement n’a pas pu être effectué.',
    other: DECLINED,
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

  notFound: 'Nous ne trouvons pas ce paiement',
  notFoundNote: 'Vérifiez le lien, ou demandez-en un nouveau à la boutique.',
  tooManyTries: 'Trop d’essais',
  tooManyTriesNote: 'Attendez une minute, puis rouvrez le lien.',
  tooManyAttempts: 'Trop d’essais pour ce paiement',
  tooManyAttemptsNote: 'Les essais refusés n’ont rien coûté. Demandez un nouveau lien à la boutique.',
  wentWrong: 'Un problème est survenu chez nous',
  wentWrongNote: 'Réessayez dans un instant. Rouvrez le lien avant de payer à nouveau.',
  cannotShow: 'Nous ne pouvons pas afficher ce paiement pour le moment',
  tryShortly: 'L’ouvrir ne vous a rien coûté. Réessayez dans un instant.',
}
