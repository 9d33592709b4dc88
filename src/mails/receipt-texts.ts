import type { Language } from '../merchants/brand.ts'

/** What receipts say, in the languages of the payment page. */
export interface ReceiptTexts {
  /** As on the payment page: digits are always Western. */
  locale: string
  direction: 'ltr' | 'rtl'
  receipt: string
  receiptFrom(merchant: string): string
  refundFrom(merchant: string): string
  hello(name: string): string
  paid(amount: string, merchant: string): string
  refunded(amount: string, merchant: string): string
  partlyRefunded(amount: string, paid: string, merchant: string): string
  /** When the money arrives. */
  refundNote: string
  amount: string
  charge: string
  total: string
  date: string
  method: string
  refundOn(date: string): string
  reference: string
  open: string
  testMode: string
  questions(merchant: string): string
  automatic: string
  /** On the payment page. */
  byMail: string
  byMailHint(merchant: string): string
  send: string
  comesByMail: string
}

const en: ReceiptTexts = {
  locale: 'en',
  direction: 'ltr',
  receipt: 'Receipt',
  receiptFrom: (merchant) => `Receipt from ${merchant}`,
  refundFrom: (merchant) => `Refund from ${merchant}`,
  hello: (name) => `Hello ${name},`,
  paid: (amount, merchant) => `You paid ${amount} to ${merchant}.`,
  refunded: (amount, merchant) => `${merchant} has sent ${amount} back to you.`,
  partlyRefunded: (amount, paid, merchant) => `${merchant} has sent ${amount} of ${paid} back to you.`,
  refundNote: 'Your bank or network may take a few days to show the money.',
  amount: 'Amount',
  charge: 'Charge',
  total: 'Paid',
  date: 'Date',
  method: 'Paid with',
  refundOn: (date) => `Refund, ${date}`,
  reference: 'Reference',
  open: 'Open the receipt',
  testMode: 'Test mode: no real money has moved',
  questions: (merchant) => `Questions about this order? Ask ${merchant}.`,
  automatic: 'This mail was sent automatically. Answers to it are not read.',
  byMail: 'E-mail address for the receipt',
  byMailHint: (merchant) => `Leave it empty to use the address that you gave to ${merchant}.`,
  send: 'Send the receipt',
  comesByMail: 'You get the receipt by e-mail.',
}

const fr: ReceiptTexts = {
  locale: 'fr',
  direction: 'ltr',
  receipt: 'Reçu',
  receiptFrom: (merchant) => `Reçu de ${merchant}`,
  refundFrom: (merchant) => `Remboursement de ${merchant}`,
  hello: (name) => `Bonjour ${name},`,
  paid: (amount, merchant) => `Vous avez payé ${amount} à ${merchant}.`,
  refunded: (amount, merchant) => `${merchant} vous a renvoyé ${amount}.`,
  partlyRefunded: (amount, paid, merchant) => `${merchant} vous a renvoyé ${amount} sur ${paid}.`,
  refundNote: 'Votre banque ou votre réseau peut mettre quelques jours à afficher l’argent.',
  amount: 'Montant',
  charge: 'Frais',
  total: 'Payé',
  date: 'Date',
  method: 'Payé par',
  refundOn: (date) => `Remboursement, ${date}`,
  reference: 'Référence',
  open: 'Ouvrir le reçu',
  testMode: 'Mode test : aucun argent réel n’a circulé',
  questions: (merchant) => `Une question sur cette commande ? Demandez à ${merchant}.`,
  automatic: 'Cet e-mail est automatique. Les réponses ne sont pas lues.',
  byMail: 'Adresse e-mail pour le reçu',
  byMailHint: (merchant) => `Laissez vide pour utiliser l’adresse que vous avez donnée à ${merchant}.`,
  send: 'Envoyer le reçu',
  comesByMail: 'Vous recevez le reçu par e-mail.',
}

const ar: ReceiptTexts = {
  locale: 'ar-u-nu-latn',
  direction: 'rtl',
  receipt: 'إيصال',
  receiptFrom: (merchant) => `إيصال من ${merchant}`,
  refundFrom: (merchant) => `مبلغ مُعاد من ${merchant}`,
  hello: (name) => `مرحبًا ${name}،`,
  paid: (amount, merchant) => `دفعت ${amount} إلى ${merchant}.`,
  refunded: (amount, merchant) => `أعاد إليك ${merchant} مبلغ ${amount}.`,
  partlyRefunded: (amount, paid, merchant) => `أعاد إليك ${merchant} مبلغ ${amount} من ${paid}.`,
  refundNote: 'قد يحتاج البنك أو الشبكة إلى بضعة أيام حتى يظهر المبلغ.',
  amount: 'المبلغ',
  charge: 'الرسوم',
  total: 'المدفوع',
  date: 'التاريخ',
  method: 'طريقة الدفع',
  refundOn: (date) => `إعادة المبلغ، ${date}`,
  reference: 'المرجع',
  open: 'افتح الإيصال',
  testMode: 'وضع الاختبار: لم تُنقل أموال حقيقية',
  questions: (merchant) => `لديك سؤال عن هذا الطلب؟ اسأل ${merchant}.`,
  automatic: 'أُرسلت هذه الرسالة تلقائيًا، ولا تُقرأ الردود عليها.',
  byMail: 'البريد الإلكتروني للإيصال',
  byMailHint: (merchant) => `اتركه فارغًا لاستخدام العنوان الذي أعطيته إلى ${merchant}.`,
  send: 'أرسل الإيصال',
  comesByMail: 'يصلك الإيصال بالبريد الإلكتروني.',
}

const sw: ReceiptTexts = {
  locale: 'sw',
  direction: 'ltr',
  receipt: 'Risiti',
  receiptFrom: (merchant) => `Risiti kutoka ${merchant}`,
  refundFrom: (merchant) => `Marejesho kutoka ${merchant}`,
  hello: (name) => `Habari ${name},`,
  paid: (amount, merchant) => `Umelipa ${amount} kwa ${merchant}.`,
  refunded: (amount, merchant) => `${merchant} imekurudishia ${amount}.`,
  partlyRefunded: (amount, paid, merchant) => `${merchant} imekurudishia ${amount} kati ya ${paid}.`,
  refundNote: 'Benki au mtandao wako unaweza kuchukua siku chache kuonyesha pesa.',
  amount: 'Kiasi',
  charge: 'Ada',
  total: 'Umelipa',
  date: 'Tarehe',
  method: 'Njia ya malipo',
  refundOn: (date) => `Marejesho, ${date}`,
  reference: 'Kumbukumbu',
  open: 'Fungua risiti',
  testMode: 'Hali ya majaribio: hakuna pesa halisi zilizotumwa',
  questions: (merchant) => `Una swali kuhusu agizo hili? Uliza ${merchant}.`,
  automatic: 'Barua hii imetumwa yenyewe. Majibu hayasomwi.',
  byMail: 'Barua pepe ya risiti',
  byMailHint: (merchant) => `Acha wazi ili kutumia anwani uliyompa ${merchant}.`,
  send: 'Tuma risiti',
  comesByMail: 'Unapokea risiti kwa barua pepe.',
}

export const RECEIPT_TEXTS: Record<Language, ReceiptTexts> = { en, fr, ar, sw }
