// SPDX-License-Identifier: Apache-2.0

// informer SERVER CA_FILE NAMESPACE: an informer of client-go for ConfigMaps, with the settings that
// controllers have. It prints a line for each event, for the first complete list, and for each error
// that client-go reports: TYPE NAMESPACE/NAME RESOURCEVERSION, SYNCED, ERROR TEXT.
package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func tell(kind string, obj interface{}) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	m := obj.(*corev1.ConfigMap)
	fmt.Printf("%s %s/%s %s\n", kind, m.Namespace, m.Name, m.ResourceVersion)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	config := &rest.Config{Host: os.Args[1], TLSClientConfig: rest.TLSClientConfig{CAFile: os.Args[2]}}
	client, err := kubernetes.NewForConfig(config)
	check(err)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(os.Args[3]))
	informer := factory.Core().V1().ConfigMaps().Informer()
	check(informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		fmt.Printf("ERROR %q\n", err.Error())
	}))
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj interface{}) { tell("ADDED", obj) },
		DeleteFunc: func(obj interface{}) { tell("DELETED", obj) },
		UpdateFunc: func(old, obj interface{}) {
			if old.(*corev1.ConfigMap).ResourceVersion != obj.(*corev1.ConfigMap).ResourceVersion {
				tell("MODIFIED", obj)
			}
		},
	})
	check(err)
	stop := make(chan struct{})
	go informer.Run(stop)
	cache.WaitForCacheSync(stop, informer.HasSynced)
	fmt.Println("SYNCED")
	<-stop
}
