// Reads a key by the client that openapi-generator has made, signs with it, and prints the signature.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"

	coffer "github.com/coffer/client"
)

func main() {
	configuration := coffer.NewConfiguration()
	configuration.Servers[0].URL = os.Args[1]
	configuration.HTTPClient = &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	client := coffer.NewAPIClient(configuration)
	as := func(user, passphrase string) context.Context {
		credentials := coffer.BasicAuth{UserName: user, Password: passphrase}
		return context.WithValue(context.Background(), coffer.ContextBasicAuth, credentials)
	}
	administrator, operator := as("admin", os.Args[2]), as("operator", os.Args[3])

	key, _, err := client.KeysAPI.GetKeysById(administrator, "web").Execute()
	expect(err)
	if key.Type != coffer.KEY_TYPE_CURVE25519 {
		panic(key.Type)
	}
	request := *coffer.NewSignRequest("EdDSA", os.Args[4])
	answer, _, err := client.KeysAPI.PostKeysByIdSign(operator, "web").SignRequest(request).Execute()
	expect(err)
	fmt.Println(answer.Signature)
}

func expect(err error) {
	if err != nil {
		panic(err)
	}
}
