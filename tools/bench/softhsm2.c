/*
 * Signatures a second through PKCS#11: softhsm2.c MODULE PIN SECONDS THREADS (ed25519|p256|rsa2048). Each thread has a
 * session of its own. PKCS #11 Cryptographic Token Interface 3.0 (OASIS); only what is needed of it is declared here.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long ulong;
typedef struct { ulong type; void *value; ulong length; } attribute;
typedef struct { ulong mechanism; void *parameter; ulong length; } mechanism;
typedef struct { ulong hash, mask, salt; } pss_parameters;
typedef struct { void *create, *destroy, *lock, *unlock; ulong flags; void *reserved; } initialize_arguments;

enum {
  CKF_OS_LOCKING_OK = 2, CKF_RW_SESSION = 2, CKF_SERIAL_SESSION = 4, CKU_USER = 1,
  CKA_TOKEN = 1, CKA_SIGN = 0x108, CKA_MODULUS_BITS = 0x121, CKA_PUBLIC_EXPONENT = 0x122, CKA_EC_PARAMS = 0x180,
  CKM_RSA_PKCS_KEY_PAIR_GEN = 0, CKM_RSA_PKCS_PSS = 0xd, CKM_SHA256 = 0x250, CKM_EC_KEY_PAIR_GEN = 0x1040,
  CKM_ECDSA = 0x1041, CKM_EC_EDWARDS_KEY_PAIR_GEN = 0x1055, CKM_EDDSA = 0x1057, CKG_MGF1_SHA256 = 2,
};

static void *library;
static ulong slot, private_key;
static mechanism signing;
static double seconds;
static unsigned char digest[32] = {1};

static void must(const char *what, ulong result) {
  if (result == 0) return;
  fprintf(stderr, "%s: PKCS#11 error 0x%lx\n", what, result);
  exit(1);
}

static ulong (*find(const char *name))() {
  void *function = dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "The module lacks %s\n", name);
    exit(1);
  }
  return (ulong (*)())function;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static ulong open_session(void) {
  ulong session;
  must("C_OpenSession",
       find("C_OpenSession")(slot, (ulong)(CKF_SERIAL_SESSION | CKF_RW_SESSION), NULL, NULL, &session));
  return session;
}

static void make_key(ulong session, const char *kind) {
  unsigned char yes = 1, no = 0, exponent[] = {1, 0, 1};
  unsigned char p256[] = {6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7}; /* OID 1.2.840.10045.3.1.7 */
  unsigned char ed25519[] = {0x13, 12, 'e', 'd', 'w', 'a', 'r', 'd', 's', '2', '5', '5', '1', '9'};
  ulong bits = 2048, public_key;
  static pss_parameters pss = {CKM_SHA256, CKG_MGF1_SHA256, 32};
  attribute private[] = {{CKA_TOKEN, &no, 1}, {CKA_SIGN, &yes, 1}};
  attribute rsa[] = {{CKA_TOKEN, &no, 1}, {CKA_MODULUS_BITS, &bits, sizeof bits}, {CKA_PUBLIC_EXPONENT, exponent, 3}};
  attribute curve[] = {{CKA_TOKEN, &no, 1}, {CKA_EC_PARAMS, p256, sizeof p256}};
  attribute edwards[] = {{CKA_TOKEN, &no, 1}, {CKA_EC_PARAMS, ed25519, sizeof ed25519}};
  mechanism generation = {0, NULL, 0};
  attribute *public = curve;
  ulong attributes = 2;
  if (strcmp(kind, "rsa2048") == 0) {
    generation.mechanism = CKM_RSA_PKCS_KEY_PAIR_GEN;
    public = rsa;
    attributes = 3;
    signing = (mechanism){CKM_RSA_PKCS_PSS, &pss, sizeof pss};
  } else if (strcmp(kind, "p256") == 0) {
    generation.mechanism = CKM_EC_KEY_PAIR_GEN;
    signing = (mechanism){CKM_ECDSA, NULL, 0};
  } else {
    generation.mechanism = CKM_EC_EDWARDS_KEY_PAIR_GEN;
    public = edwards;
    signing = (mechanism){CKM_EDDSA, NULL, 0};
  }
  must("C_GenerateKeyPair", find("C_GenerateKeyPair")(session, &generation, public, attributes, private, (ulong)2,
                                                      &public_key, &private_key));
}

static void *sign(void *count) {
  ulong session = open_session();
  ulong (*init)() = find("C_SignInit"), (*finish)() = find("C_Sign");
  unsigned char signature[512];
  ulong signatures = 0;
  for (double end = now() + seconds; now() < end; signatures++) {
    ulong length = sizeof signature;
    must("C_SignInit", init(session, &signing, private_key));
    must("C_Sign", finish(session, digest, (ulong)sizeof digest, signature, &length));
  }
  *(ulong *)count = signatures;
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 6) return 2;
  library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  seconds = atof(arguments[3]);
  int threads = atoi(arguments[4]);
  initialize_arguments locking = {.flags = CKF_OS_LOCKING_OK};
  ulong slots[16], found = 16;
  must("C_Initialize", find("C_Initialize")(&locking));
  must("C_GetSlotList", find("C_GetSlotList")((unsigned char)1, slots, &found));
  if (found == 0) return 1;
  slot = slots[0];
  ulong session = open_session();
  must("C_Login", find("C_Login")(session, (ulong)CKU_USER, arguments[2], (ulong)strlen(arguments[2])));
  make_key(session, arguments[5]);

  pthread_t workers[64];
  ulong counts[64], total = 0;
  if (threads < 1 || threads > 64) return 2;
  double start = now();
  for (int i = 0; i < threads; i++) pthread_create(&workers[i], NULL, sign, &counts[i]);
  for (int i = 0; i < threads; i++) pthread_join(workers[i], NULL), total += counts[i];
  printf("%f\n", total / (now() - start));
  return 0;
}
